// SPDX-License-Identifier: Apache-2.0
// The random bits of stochastic rounding: balanced, uncorrelated, and a function of seed, step, group and index alone.
#include <algorithm>
#include <catch.hpp>
#include <cmath>
#include <cstdint>
#include <halfstep/core/random.hpp>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr int count = 1 << 16;

std::vector<std::uint32_t> words(hs::noise_key key, std::uint32_t first = 0) {
    std::vector<std::uint32_t> result(count);
    for (std::uint32_t i = 0; i < count; ++i) result[i] = hs::random_bits(key, first + i);
    return result;
}

/// Standard deviations that `hits` of `trials` fair coin flips are off the mean.
double deviations(std::int64_t hits, std::int64_t trials) {
    return std::fabs(static_cast<double>(2 * hits - trials)) / std::sqrt(static_cast<double>(trials));
}

const hs::noise_key keys[] = {hs::make_noise_key(0, 1, 0, 0), hs::make_noise_key(0, 2, 0, 0),
                              hs::make_noise_key(1, 1, 0, 0), hs::make_noise_key(0, 1, 1, 0),
                              hs::make_noise_key(0, 1, 0, 1), {0, 0}};

}  // namespace

TEST_CASE("every random bit is set half of the time, at any stretch of indices") {
    for (auto key : keys)
        for (std::uint32_t first : {0u, 0x10000u, 0xFFFF0000u})
            for (int bit = 0; bit < 32; ++bit) {
                const auto x = words(key, first);
                const auto set =
                    std::count_if(x.begin(), x.end(), [&](std::uint32_t w) { return (w >> bit & 1) != 0; });
                CAPTURE(key.before, key.between, first, bit);
                REQUIRE(deviations(set, count) < 5);
            }
}

TEST_CASE("neighbouring elements draw uncorrelated bits") {
    for (auto key : keys) {
        const auto x = words(key);
        for (std::size_t distance : {1u, 2u, 8u, 64u, 256u})
            for (int bit = 0; bit < 32; ++bit) {
                std::int64_t equal = 0;
                for (std::size_t i = 0; i + distance < count; ++i)
                    equal += ((x[i] ^ x[i + distance]) >> bit & 1) == 0 ? 1 : 0;
                CAPTURE(key.before, key.between, distance, bit);
                REQUIRE(deviations(equal, count - static_cast<std::int64_t>(distance)) < 5);
            }
    }
}

TEST_CASE("seed, step, group and the index's upper half each give another sequence") {
    // Were one of them left out of the key, two of these would be equal.
    for (auto const& a : keys)
        for (auto const& b : keys) {
            if (&a == &b) continue;
            const auto x = words(a), y = words(b);
            for (int bit : {0, 15, 31}) {
                std::int64_t equal = 0;
                for (std::size_t i = 0; i < count; ++i) equal += ((x[i] ^ y[i]) >> bit & 1) == 0 ? 1 : 0;
                CAPTURE(a.before, b.before, bit);
                REQUIRE(deviations(equal, count) < 5);
            }
        }
    REQUIRE(hs::make_noise_key(7, 1, 2, 3).before != hs::make_noise_key(7, 1, 3, 2).before);
}

TEST_CASE("two keys never draw one sequence in another order") {
    // With a key that is only xored into the index, key b would draw at index i what key a draws at index i ^ a.before
    // ^ b.before.
    for (auto const& a : keys)
        for (auto const& b : keys) {
            if (&a == &b) continue;
            const std::uint32_t difference = a.before ^ b.before;
            int equal = 0;
            for (std::uint32_t i = 0; i < count; ++i)
                equal += hs::random_bits(a, i) == hs::random_bits(b, i ^ difference) ? 1 : 0;
            REQUIRE(equal <= 1);
        }
}

TEST_CASE("random words do not repeat within a key") {
    auto x = words(keys[0]);
    std::sort(x.begin(), x.end());
    REQUIRE(std::adjacent_find(x.begin(), x.end()) == x.end());  // every step of the hash is one to one
}

TEST_CASE("random words stay what they are: a run repeats after an update of the library") {
    STATIC_REQUIRE(hs::detail::mix(0) == 0xE220A8397B1DCDAFu);  // the first output of SplitMix64 from seed 0
    STATIC_REQUIRE(hs::make_noise_key(0, 1, 0, 0).before == 0x00C67FB0u);
    STATIC_REQUIRE(hs::make_noise_key(0, 1, 0, 0).between == 0x44E5B981u);
    STATIC_REQUIRE(hs::random_bits(hs::make_noise_key(0, 1, 0, 0), 0u) == 0xFBFC15F1u);
    STATIC_REQUIRE(hs::random_bits(hs::make_noise_key(0, 1, 0, 0), 1u) == 0xA9C03219u);
    STATIC_REQUIRE(hs::random_bits(hs::make_noise_key(42, 7, 3, 1), 12345u) == 0xF9930EABu);
}
