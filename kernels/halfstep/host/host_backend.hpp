// SPDX-License-Identifier: Apache-2.0
/// The host backend: OpenMP over segments, SIMD inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <halfstep/concepts/execution_backend.hpp>
#include <halfstep/host/buffer.hpp>
#include <halfstep/host/inspect.hpp>
#include <halfstep/host/threads.hpp>
#include <halfstep/host/update.hpp>

namespace halfstep::inline HS_INSTRUCTION_SET {

/// Runs steps on the CPU, over the caller's own memory. The default.
///
/// Bits do not depend on the number of threads, on the instruction set or on the alignment of tensors.
struct host_backend {
    using slot = execution_backend_slot;
    static constexpr bool device_memory = false;
    static constexpr bool synchronous = true;
    using buffer = host::buffer;

    int threads = 0;  ///< 0: as many as OpenMP takes by itself; small steps use fewer. Without OpenMP always one
    /// A thread gets at least so many elements: a parallel region costs about a microsecond.
    std::int64_t elements_per_thread = 16384;
    /// Narrow parameters are written past the caches where a step touches more bytes than this: streaming gains beyond
    /// the second-level cache and loses inside it.
    std::int64_t stream_above_bytes = std::int64_t{4} << 20;

    buffer allocate(std::size_t bytes) const { return buffer(bytes); }
    void write(std::byte* to, std::byte const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
    void read(std::byte* to, std::byte const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }

    /// Companions from the parameters as they are.
    template <class Values, class Table>
    void initialise([[maybe_unused]] Values const& policies, [[maybe_unused]] Table const& table) const {
        if constexpr (!std::is_empty_v<typename Table::layout::companion>) {
            host::parallel(threads_for(table.elements), [&](int thread, int count) {
                const auto part = host::share(table.segments, thread, count);
                host::walk_segments(
                    table, part.begin, part.end, [&](auto const& row, std::int64_t first, std::int64_t n, auto) {
                        for (std::int64_t i = first; i < first + n; ++i) {
                            std::remove_cvref_t<decltype(*row.parameter)>
                                parameter;  // its bytes may be those of a foreign type
                            std::memcpy(static_cast<void*>(&parameter), row.parameter + i, sizeof parameter);
                            table.companions[row.state_offset + i] = policies.storage.initial(parameter);
                        }
                    });
            });
        }
    }

    /// A report a row, folded from what the last inspection left.
    template <class Table>
    std::vector<gradient_report> tensor_reports(Table const& table) const {
        std::vector<gradient_report> reports(static_cast<std::size_t>(table.row_count));
        for (std::size_t r = 0; r < reports.size(); ++r) {
            partial_fold fold;
            fold.add(table.partials + table.rows[r].first_segment, segments_of(table.rows[r].size));
            reports[r] = fold.result();
        }
        return reports;
    }

    template <class Context>
    void inspect(Context& context) const {
        look(context);
        context.agree();
        context.note_micro_batch();
    }

    template <class Context>
    void run(Context& context, step_input const& in) const {
        context.reduce();
        look(context);
        context.agree();
        context.decide(in);
        if (context.control().last.applied) {
            update(context);
            context.publish();
        }
    }

  private:
    int threads_for(std::int64_t elements) const {
        const int wanted = threads > 0 ? threads : host::default_threads();
        const std::int64_t useful = elements / (elements_per_thread > 0 ? elements_per_thread : 1);
        return static_cast<int>(useful < wanted ? (useful < 1 ? 1 : useful) : wanted);
    }
    template <class Context>
    int threads_for_all(Context const& context) const {
        std::int64_t elements = 0;
        context.for_each_table([&](auto const&, auto const& table, auto) { elements += table.elements; });
        return threads_for(elements);
    }

    /// 2. Reports of all groups, from one read of their gradients.
    template <class Context>
    void look(Context& context) const {
        using composition = typename Context::composition;
        auto& control = context.control();
        host::parallel(threads_for_all(context), [&](int thread, int count) {
            context.for_each_table([&](auto const& policies, auto const& table, auto g) {
                using inspection = typename composition::template inspection<g>;
                if constexpr (inspection::looks) {
                    const auto part = host::share(table.segments, thread, count);
                    host::inspect_segments<inspection::wanted>(table, policies.detection, part.begin, part.end);
                }
            });
        });
        context.for_each_table([&](auto const&, auto const& table, auto g) {
            if constexpr (composition::template inspection<g>::looks) {
                partial_fold fold;
                fold.add(table.partials, table.segments);
                control.reports[g] = fold.result();
            }
        });
    }

    /// 5. One pass over everything that changes.
    template <class Context>
    void update(Context& context) const {
        auto const& control = context.control();
        std::int64_t bytes = 0;
        context.for_each_table(
            [&](auto const&, auto const& table, auto) { bytes += table.elements * bytes_of(table); });
        const bool stream = bytes > stream_above_bytes;
        host::parallel(threads_for_all(context), [&](int thread, int count) {
            context.for_each_table([&](auto const& policies, auto const& table, auto g) {
                const auto part = host::share(table.segments, thread, count);
                update_segments(context.policies().clipping, policies, get<g>(control.decisions), table, part, stream);
            });
        });
    }
    template <class Layout>
    static constexpr std::int64_t bytes_of(group_table<Layout> const&) {
        return static_cast<std::int64_t>(sizeof(typename Layout::type) + sizeof(typename Layout::gradient_type) +
                                         Layout::moments * sizeof(typename Layout::moment)) +
               (std::is_empty_v<typename Layout::companion>
                    ? 0
                    : static_cast<std::int64_t>(sizeof(typename Layout::companion)));
    }

    template <class Clipping, class Values, class Decision, class Layout>
    static void update_segments(Clipping const& clipping, Values const& policies, Decision const& decision,
                                group_table<Layout> const& table, host::work_range part, bool stream) {
        using rule = typename Layout::rule;
        using coefficients = typename rule::coefficients;
        const auto element = gather_policies<Layout>(policies, clipping);
        std::int64_t missed = 0;
        coefficients own = decision.coefficients;
        bool streamed = false;
        host::walk_segments(
            table, part.begin, part.end,
            [&](auto const& row, std::int64_t first, std::int64_t n, std::int64_t segment) {
                std::int64_t& own_missed = table.missed_steps[&row - table.rows];
                if (row.gradient == nullptr) {
                    if (segment == row.first_segment) ++own_missed;
                    return;
                }
                if (own_missed != missed) {  // a tensor counts its own updates
                    missed = own_missed;
                    rule_input in = decision.rule;
                    in.step -= missed;
                    own = policies.rule.prepare(in);
                }
                host::stretch<Layout> s{row.parameter + first,
                                        row.gradient + first,
                                        nullptr,
                                        {},
                                        n,
                                        static_cast<std::uint64_t>(row.first_index + first)};
                if constexpr (Layout::moments > 0)
                    for (int k = 0; k < Layout::moments; ++k)
                        s.moment[k] = table.moments + k * table.moment_stride + row.state_offset + first;
                if constexpr (!std::is_empty_v<typename Layout::companion>)
                    s.companion = table.companions + row.state_offset + first;
                if (auto const* const next = host::row_after(table, row, n)) host::prefetch_row(table, *next);
                // Cut where a key's 2^32 indices end, and before the first whole cache line of what is to be streamed.
                bool may_stream = false;
                if constexpr (host::streams_parameter<Layout>) may_stream = stream && s.size >= segment_elements;
                while (s.size > 0) {
                    const std::uint64_t left = (std::uint64_t{1} << 32) - (s.first_index & 0xFFFFFFFFu);
                    auto piece = s;
                    if (left < static_cast<std::uint64_t>(s.size)) piece.size = static_cast<std::int64_t>(left);
                    const std::int64_t before_line = elements_before_line(s.parameter);
                    if (may_stream && before_line > 0 && before_line < piece.size) piece.size = before_line;
                    const noise_key key =
                        make_noise_key(element.seed, static_cast<std::uint64_t>(decision.rule.step), table.ordinal,
                                       static_cast<std::uint32_t>(s.first_index >> 32));
                    if constexpr (host::streams_parameter<Layout>) {
                        if (may_stream && before_line == 0) {
                            host::update_stretch<true>(piece, element, own, decision.gradient_factor, key);
                            streamed = true;
                        } else {
                            host::update_stretch<false>(piece, element, own, decision.gradient_factor, key);
                        }
                    } else {
                        host::update_stretch<false>(piece, element, own, decision.gradient_factor, key);
                    }
                    s = host::advanced(s, piece.size);
                }
            });
#if defined(__SSE2__)
        if (streamed) _mm_sfence();
#endif
    }
    template <class T>
    static std::int64_t elements_before_line(T const* p) {
        const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(p) % 64;
        return past == 0 ? 0 : static_cast<std::int64_t>((64 - past) / sizeof(T));
    }
};
static_assert(execution_backend<host_backend>);

}  // namespace halfstep::inline HS_INSTRUCTION_SET
