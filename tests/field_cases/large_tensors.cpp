// SPDX-License-Identifier: Apache-2.0
// Tensors of 2^31 elements and more, without the memory for them: index arithmetic, and sums of generated segments.
#include <algorithm>
#include <array>
#include <catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <span>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr std::int64_t n = 2'476'250'368, just_beyond = (std::int64_t{1} << 31) + 1;
/// The chunk of the case, in segments.
constexpr std::int64_t chunk = 65536 / hs::segment_elements;

/// Takes no memory beyond a megabyte, but hears what is asked for.
struct measuring_backend {
    using slot = hs::execution_backend_slot;
    static constexpr bool device_memory = false;
    static constexpr bool synchronous = true;
    using buffer = hs::host::buffer;
    std::vector<std::size_t>* asked;
    buffer allocate(std::size_t bytes) const {
        asked->push_back(bytes);
        return buffer(bytes < (1 << 20) ? bytes : 0);
    }
    void write(std::byte* to, std::byte const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
    void read(std::byte* to, std::byte const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
};
static_assert(hs::execution_backend<measuring_backend>);

using recipe = hs::recipe<hs::fp16{}, hs::adamw{}>;
using storage = hs::group_storage<recipe::composition::plan<0>, measuring_backend>;

/// Views of two large tensors, whose elements nobody touches.
storage two_large_tensors(std::vector<std::size_t>& asked) {
    static std::array<hs::fp16, 1> memory;
    return storage(
        {{memory.data(), {n}}, {memory.data(), {just_beyond}}}, {{memory.data(), {n}}, {memory.data(), {just_beyond}}},
        [](std::int64_t total) {
            return hs::flat_range{0, total};
        },
        0, 0, measuring_backend{&asked});
}

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

    std::vector<std::size_t> asked;
    const storage tensors = two_large_tensors(asked);
    auto const& table = tensors.table();
    CHECK(table.elements == n + just_beyond);
    CHECK(table.segments == hs::segments_of(n) + hs::segments_of(just_beyond));
    CHECK(tensors.rows()[1].first_index == n);
    CHECK(tensors.rows()[1].first_segment == hs::segments_of(n));
    CHECK(tensors.rows()[1].state_offset == n);  // a multiple of the alignment already
    // Two fp32 moments and a master for each element and the padding after the last.
    const auto kept = static_cast<std::size_t>(n + just_beyond + 63);
    CHECK(std::ranges::count(asked, kept * 8) == 1);
    CHECK(std::ranges::count(asked, kept * 4) == 1);

    // The last chunk of each tensor.
    const auto last_chunk = [&](std::int64_t begin, std::int64_t end) {
        hs::flat_range range;
        hs::host::walk_segments(table, begin, end,
                                [&](auto const&, std::int64_t first, std::int64_t count, std::int64_t) {
                                    range = {first, first + count};
                                });
        return range;
    };
    const std::int64_t first_of_last = 37'784 * chunk;
    CHECK(last_chunk(first_of_last, hs::segments_of(n)) == hs::flat_range{n - 38'144, n});
    CHECK(last_chunk(table.segments - 1, table.segments) == hs::flat_range{2'147'483'648, just_beyond});
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
