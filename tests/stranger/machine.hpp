// SPDX-License-Identifier: Apache-2.0
/// A machine of one's own: ranks that are threads, a layout that splits between them, and a backend in plain serial
/// loops.
#pragma once

#include <barrier>
#include <cstddef>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace lab {

namespace hs = halfstep;

// ---- communicator

/// What the ranks of one world share: a place for each rank's address, and a barrier.
struct meeting_point {
    explicit meeting_point(int ranks) : barrier(ranks), address(static_cast<std::size_t>(ranks)) {}
    std::barrier<> barrier;
    std::vector<void*> address;
};

/// One rank, a thread. It can be moved and not copied, as a handle of a real library would be.
class thread_rank {
  public:
    using slot = hs::communicator_slot;
    thread_rank(meeting_point& point, int rank) : point_(&point), rank_(rank) {}
    thread_rank(thread_rank&&) = default;
    thread_rank& operator=(thread_rank&&) = default;

    int rank() const { return rank_; }
    int size() const { return static_cast<int>(point_->address.size()); }

    void all_reduce(std::span<double> scalars, hs::reduction how) {
        fold(scalars, [how](double a, double b) { return how == hs::reduction::sum ? a + b : (a < b ? b : a); });
    }
    template <class T>
    void all_reduce_mean(std::span<T> values) {
        std::vector<float> wide(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) wide[i] = hs::widen(values[i]);
        fold(std::span<float>(wide), [](float a, float b) { return a + b; });
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = hs::narrow<T>(wide[i] / static_cast<float>(size()));
    }
    template <class T>
    void broadcast(std::span<T> values, int root) {
        meet(values.data());
        if (rank_ != root)
            std::memcpy(static_cast<void*>(values.data()), point_->address[static_cast<std::size_t>(root)],
                        values.size_bytes());
        point_->barrier.arrive_and_wait();
    }

  private:
    void meet(void* mine) {
        point_->address[static_cast<std::size_t>(rank_)] = mine;
        point_->barrier.arrive_and_wait();
    }
    /// The same order on every rank: rank 0 first.
    template <class X, class F>
    void fold(std::span<X> values, F&& f) {
        meet(values.data());
        std::vector<X> result(values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            for (std::size_t r = 0; r < point_->address.size(); ++r) {
                const X theirs = static_cast<X const*>(point_->address[r])[i];
                result[i] = r == 0 ? theirs : f(result[i], theirs);
            }
        point_->barrier.arrive_and_wait();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = result[i];
        point_->barrier.arrive_and_wait();
    }

    meeting_point* point_;
    int rank_;
};

// ---- sharding layout

/// Every rank advances its own stretch of the flat parameters, rounded up to `grain` elements, and hands it to the
/// others.
struct flat_split {
    using slot = hs::sharding_slot;
    static constexpr auto gradients = hs::gradient_collective::all_reduce;
    static constexpr auto parameters = hs::parameter_collective::broadcast_owned;
    static constexpr bool cuts_tensors = true;
    int grain = 1;
    constexpr hs::flat_range owned(std::int64_t elements, int rank, int size) const {
        const std::int64_t each = (elements / size / grain + 1) * grain;
        const auto bounded = [&](std::int64_t x) { return x < elements ? x : elements; };
        return {bounded(rank * each), bounded((rank + 1) * each)};
    }
};

// ---- execution backend

/// One element after another, in the order in which they lie. Slow and short: what a backend has to do, and nothing
/// else.
struct serial_backend {
    using slot = hs::execution_backend_slot;
    static constexpr bool device_memory = false;
    static constexpr bool synchronous = true;

    /// `std::vector` keeps its address when moved, and its memory is aligned for everything that a step puts there.
    class buffer {
      public:
        buffer() = default;
        explicit buffer(std::size_t bytes) : memory_(bytes / sizeof(line) + 1) {}
        std::byte* data() const { return const_cast<std::byte*>(memory_.empty() ? nullptr : memory_[0].bytes); }

      private:
        struct alignas(64) line {
            std::byte bytes[64]{};
        };
        std::vector<line> memory_;
    };
    buffer allocate(std::size_t bytes) const { return buffer(bytes); }
    void write(std::byte* to, std::byte const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
    void read(std::byte* to, std::byte const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }

    template <class Values, class Table>
    void initialise(Values const& policies, Table const& table) const {
        if constexpr (!std::is_empty_v<typename Table::layout::companion>)
            for (auto const& row : rows(table))
                for (std::int64_t i = 0; i < row.size; ++i)
                    table.companions[row.state_offset + i] = policies.storage.initial(table.parameter(row)[i]);
    }
    template <class Context>
    void inspect(Context& context) const {
        look(context);
        context.agree();
        context.note_micro_batch();
    }
    template <class Context>
    void run(Context& context, hs::step_input const& in) const {
        context.reduce();
        look(context);
        context.agree();
        context.decide(in);
        if (!context.control().last.applied) return;
        context.for_each_table([&](auto const& policies, auto const& table, auto g) {
            update(context.policies().clipping, policies, hs::get<g>(context.control().decisions), table);
        });
        context.publish();
    }

  private:
    template <class Table>
    static auto rows(Table const& table) {
        return std::span(table.rows, static_cast<std::size_t>(table.row_count));
    }

    template <class Context>
    static void look(Context& context) {
        context.for_each_table([&](auto const& policies, auto const& table, auto g) {
            hs::partial_fold fold;
            for (auto const& row : rows(table))
                for (std::int64_t first = 0; first < row.size; first += hs::segment_elements) {
                    hs::segment_partial partial;
                    if (row.gradient != nullptr)
                        partial = look(policies.detection, table.gradient(row) + first,
                                       std::min(hs::segment_elements, row.size - first));
                    fold.add(&partial, 1);
                }
            context.control().reports[g] = fold.result();
        });
    }
    template <class Detection, class T>
    static hs::segment_partial look(Detection const& detection, T const* gradient, std::int64_t n) {
        hs::segment_partial partial;
        float chain[hs::sum_chains]{};
        for (std::int64_t i = 0; i < n; ++i) {
            const float g = hs::widen(gradient[i]);
            if constexpr (hs::value_detection<Detection>)
                partial.flagged |= detection.flags(g) ? 1u : 0u;
            else if constexpr (hs::bit_detection<Detection, T>)
                partial.flagged |= detection.template flags_bits<T>(bits_of(gradient[i])) ? 1u : 0u;
            float& sum = chain[i % hs::sum_chains];
            sum = hs::fma(g, g, sum);
            if (hs::abs(g) > partial.largest_magnitude) partial.largest_magnitude = hs::abs(g);
        }
        for (int distance = 1; distance < hs::sum_chains; distance *= 2)
            for (int i = 0; i < hs::sum_chains; i += 2 * distance) chain[i] += chain[i + distance];
        partial.sum_of_squares = chain[0];
        return partial;
    }
    static std::uint32_t bits_of(float x) { return hs::bits_of(x); }
    template <class T>
    static std::uint32_t bits_of(T x) {
        return x.bits;
    }

    template <class Clipping, class Values, class Decision, class Layout>
    static void update(Clipping const& clipping, Values const& values, Decision const& decision,
                       hs::group_table<Layout> const& table) {
        const auto policies = hs::gather_policies<Layout>(values, clipping);
        std::int64_t* missed = table.missed_steps;
        for (auto const& row : rows(table)) {
            std::int64_t& missed_steps = *missed++;
            if (row.gradient == nullptr) {
                ++missed_steps;
                continue;
            }
            hs::rule_input in = decision.rule;
            in.step -= missed_steps;
            const auto coefficients = values.rule.prepare(in);
            for (std::int64_t i = 0; i < row.size; ++i) {
                const auto index = static_cast<std::uint64_t>(row.first_index + i);
                const hs::noise<float> noise{
                    hs::make_noise_key(policies.seed, static_cast<std::uint64_t>(decision.rule.step), table.ordinal,
                                       static_cast<std::uint32_t>(index >> 32)),
                    static_cast<std::uint32_t>(index)};
                typename Layout::companion none{};
                auto* companion = &none;
                if constexpr (!std::is_empty_v<typename Layout::companion>)
                    companion = table.companions + row.state_offset + i;
                hs::values<typename Layout::moment, Layout::moments> moment;
                if constexpr (Layout::moments > 0)
                    for (int k = 0; k < Layout::moments; ++k)
                        moment[k] = table.moments[k * table.moment_stride + row.state_offset + i];
                hs::update_element(policies, coefficients, decision.gradient_factor, hs::widen(table.gradient(row)[i]),
                                   table.parameter(row)[i], *companion, moment, noise);
                if constexpr (Layout::moments > 0)
                    for (int k = 0; k < Layout::moments; ++k)
                        table.moments[k * table.moment_stride + row.state_offset + i] = moment[k];
            }
        }
    }
};

static_assert(hs::communicator<thread_rank>);
static_assert(hs::sharding_layout<flat_split>);
static_assert(hs::execution_backend<serial_backend>);

}  // namespace lab
