// SPDX-License-Identifier: Apache-2.0
// Tensors of 2^31 elements and more, without the memory for them: index arithmetic, and sums of generated segments.
#include <sys/mman.h>

#include <array>
#include <catch.hpp>
#include <cstddef>
#include <cstdint>
#include <halfstep/halfstep.hpp>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr std::int64_t n = 2'476'250'368, just_beyond = (std::int64_t{1} << 31) + 1;
/// The chunk of the case, in segments.
constexpr std::int64_t chunk = 65536 / hs::segment_elements;

/// Reserves addresses and touches none of them.
struct reserving_backend : hs::host_backend {
    class buffer {
      public:
        buffer() = default;
        explicit buffer(std::size_t bytes) {
            if (bytes == 0) return;
            void* memory =
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (memory == MAP_FAILED) throw std::bad_alloc();
            data_.reset(static_cast<std::byte*>(memory), [bytes](std::byte* p) { munmap(p, bytes); });
        }
        std::byte* data() const { return data_.get(); }

      private:
        std::shared_ptr<std::byte> data_;
    };
    buffer allocate(std::size_t bytes) const { return buffer(bytes); }
    template <class Values, class Table>
    void initialise(Values const&, Table const&) const {}
};
static_assert(hs::execution_backend<reserving_backend>);

/// The second rank of two, the only one that there is.
struct rank_one {
    using slot = hs::communicator_slot;
    static constexpr int rank() { return 1; }
    static constexpr int size() { return 2; }
    static constexpr void all_reduce(std::span<double>, hs::reduction) {}
    template <class T>
    static constexpr void all_reduce_mean(std::span<T>) {}
    template <class T>
    static constexpr void broadcast(std::span<T>, int) {}
};
/// The second rank owns what follows the first `boundary` elements.
struct cut_at {
    using slot = hs::sharding_slot;
    static constexpr auto gradients = hs::gradient_collective::none;
    static constexpr auto parameters = hs::parameter_collective::broadcast_owned;
    static constexpr bool cuts_tensors = true;
    std::int64_t boundary = (std::int64_t{1} << 32) - 100;
    constexpr hs::flat_range owned(std::int64_t elements, int rank, int) const {
        return rank == 0 ? hs::flat_range{0, boundary} : hs::flat_range{boundary, elements};
    }
};

}  // namespace

TEST_CASE("10.1 Tensors beyond 2^31 elements: sizes, offsets and chunks") {
    STATIC_REQUIRE((hs::segments_of(n) + chunk - 1) / chunk == 37'785);
    STATIC_REQUIRE(hs::segments_of(just_beyond) == (std::int64_t{1} << 31) / hs::segment_elements + 1);
    STATIC_REQUIRE(hs::shape{65536, 37785}.size() == 2'476'277'760);

    // The last chunk of each of two such tensors.
    using table_type =
        hs::group_table<hs::element_layout<hs::fp16, hs::fp16, hs::adamw, hs::fp32_master, hs::fp32_state<>>>;
    std::array<hs::tensor_row, 2> rows{};
    rows[0].size = n;
    rows[1] = {.size = just_beyond, .first_segment = hs::segments_of(n)};
    table_type table;
    table.rows = rows.data();
    table.row_count = 2;
    table.segments = hs::segments_of(n) + hs::segments_of(just_beyond);
    const auto elements_of = [&](std::int64_t begin, std::int64_t end) {
        hs::flat_range range;
        hs::host::walk_segments(table, begin, end,
                                [&](auto const&, std::int64_t first, std::int64_t count, std::int64_t) {
                                    range = {first, first + count};
                                });
        return range;
    };
    CHECK(elements_of(37'784 * chunk, hs::segments_of(n)) == hs::flat_range{n - 38'144, n});
    CHECK(elements_of(table.segments - 1, table.segments) == hs::flat_range{2'147'483'648, just_beyond});
}

TEST_CASE("10.1 Tensors beyond 2^31 elements: where their state lies") {
    hs::fp16 memory{};  // of no tensor; nobody reads the elements
    const std::array parameters{hs::tensor_view<hs::fp16>(&memory, {n}),
                                hs::tensor_view<hs::fp16>(&memory, {just_beyond})};
    hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::adamw{}>{}, reserving_backend{}};
    step.bind(parameters, parameters);
    std::array<std::array<std::byte*, 2>, 2> moments{};
    step.visit_state([&](hs::state_entry const& entry) {
        const auto size = static_cast<std::size_t>(entry.tensor == 0 ? n : just_beyond);
        if (entry.component == "companion" || entry.component == "moment")
            CHECK(entry.bytes.size() == size * sizeof(float));
        if (entry.component == "moment")
            moments[entry.tensor][static_cast<std::size_t>(entry.number)] = entry.bytes.data();
    });
    for (std::size_t k : {0u, 1u}) CHECK(moments[1][k] - moments[0][k] == n * 4);  // n is a multiple of the alignment
    CHECK(moments[0][1] - moments[0][0] >= (n + just_beyond) * 4);
}

TEST_CASE("10.1 Tensors beyond 2^31 elements: every thread's share") {
    for (std::int64_t count : {just_beyond, (std::int64_t{1} << 40) + 5})
        for (int threads : {1, 3, 64}) {
            std::int64_t next = 0;
            for (int thread = 0; thread < threads; ++thread) {
                const hs::host::work_range part = hs::host::share(count, thread, threads);
                CHECK(part.begin == next);
                CHECK(part.end - part.begin <= count / threads + 1);
                next = part.end;
            }
            CHECK(next == count);
        }
}

TEST_CASE("10.1 Tensors beyond 2^31 elements: sums") {
    const std::vector<float> ones(hs::segment_elements, 1.0f);
    constexpr hs::gradient_statistics wanted{.sum_of_squares = true};
    const auto whole = hs::host::inspect_segment<wanted>(ones.data(), hs::segment_elements, hs::nonfinite_check{});
    const auto rest = hs::host::inspect_segment<wanted>(ones.data(), 5, hs::nonfinite_check{});
    hs::partial_fold fold;
    for (std::int64_t i = 0; i < (std::int64_t{1} << 31) / hs::segment_elements; ++i) fold.add(&whole, 1);
    fold.add(&rest, 1);
    CHECK(fold.result().sum_of_squares == 2'147'483'653.0);
}

TEST_CASE("10.1 Tensors beyond 2^31 elements: a step on the last of them") {
    constexpr hs::stochastic_rounding storage{.seed = 9};
    constexpr std::int64_t before = (std::int64_t{1} << 32) - 100;
    std::vector<hs::bf16> parameter(300);
    std::vector<float> gradient(300), value(300);
    for (std::size_t i = 0; i < 300; ++i) {
        parameter[i] = hs::bf16(1 + 0.01f * static_cast<float>(i));
        gradient[i] = 0.003f * static_cast<float>(i % 17) + 0.001f;
        value[i] = hs::fma(-0.3f, gradient[i], hs::widen(parameter[i]));
    }
    hs::optimizer_step step{
        hs::recipe<hs::group<hs::everything, hs::bf16, float>{}, hs::sgd<>{}, storage, cut_at{.boundary = before}>{},
        rank_one{}};
    // The first tensor belongs to the other rank; nobody here touches its elements.
    step.bind(std::array{hs::tensor_view<hs::bf16>(parameter.data(), {before}), hs::tensor_view<hs::bf16>(parameter)},
              std::array{hs::tensor_view<float const>(nullptr, {before}),
                         hs::tensor_view<float const>(gradient.data(), {300})});
    CHECK(step.step(0.3f).applied);
    for (std::size_t i = 0; i < 300; ++i) {
        const std::uint64_t index = static_cast<std::uint64_t>(before) + i;  // crosses 2^32
        const auto key = hs::make_noise_key(storage.seed, 1, 0, static_cast<std::uint32_t>(index >> 32));
        hs::bf16 expected;
        hs::stochastic_round_into(expected, value[i], hs::random_bits(key, static_cast<std::uint32_t>(index)));
        INFO("element " << i);
        CHECK(parameter[i] == expected);
    }
}
