// SPDX-License-Identifier: Apache-2.0
// A pack of lanes gives, lane by lane, the bits that scalars give. Built once for each instruction set that this
// machine runs.
#include <array>
#include <catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <halfstep/host/lanes.hpp>
#include <type_traits>
#include <vector>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;
namespace host = halfstep::host;
using namespace patterns;

namespace {

constexpr int width = host::lane_count;

/// Floats in packs, the last one filled up with ones.
template <class F>
void for_each_pack(std::vector<float> x, F&& f) {
    while (x.size() % width != 0) x.push_back(1);
    for (std::size_t i = 0; i < x.size(); i += width) f(x.data() + i);
}

std::vector<float> floats_to_try() {
    std::vector<float> x;
    for_strided_patterns([&](std::uint32_t bits) { x.push_back(hs::real_of(bits)); });
    for (std::uint32_t bits : nan_patterns) x.push_back(hs::real_of(bits));
    for (std::uint32_t bits : {0x7F800000u, 0xFF800000u, 0u, 0x80000000u, 1u, 0x007FFFFFu, 0x7F7FFFFFu})
        x.push_back(hs::real_of(bits));
    return x;
}

template <class T>
void require_equal(float x, T lane, T scalar) {
    if (lane == scalar) return;
    CAPTURE(hs::bits_of(x));
    REQUIRE(lane.bits == scalar.bits);
}

template <class T>
void check_widen() {
    for (std::uint32_t pattern = 0; pattern < 2 * sign_bit<T>; pattern += width) {
        T stored[width];
        float wide[width];
        for (unsigned i = 0; i < width; ++i) stored[i] = T::from_bits(static_cast<pattern_of<T>>(pattern + i));
        host::store_lanes(static_cast<float*>(wide), widen(host::load_lanes(static_cast<T const*>(stored))));
        for (int i = 0; i < width; ++i)
            if (hs::bits_of(wide[i]) != hs::bits_of(hs::widen(stored[i]))) {
                CAPTURE(stored[i].bits);
                REQUIRE(hs::bits_of(wide[i]) == hs::bits_of(hs::widen(stored[i])));
            }
    }
}

template <class T>
void check_round(std::vector<float> const& x) {
    for_each_pack(x, [](float const* pack) {
        host::packed_lanes<T> rounded;
        T stored[width];
        round_into(rounded, host::load_lanes(pack));
        host::store_lanes(static_cast<T*>(stored), rounded);
        for (int i = 0; i < width; ++i) require_equal<T>(pack[i], stored[i], hs::narrow<T>(pack[i]));
    });
}

template <class T>
void check_stochastic(std::vector<float> const& x) {
    random_words random(1);
    for_each_pack(x, [&](float const* pack) {
        host::lane_bits bits;
        std::uint32_t scalar_bits[width];
        for (int i = 0; i < width; ++i) {
            bits.v[i] = scalar_bits[i] = random();
        }
        host::packed_lanes<T> rounded;
        T stored[width];
        stochastic_round_into(rounded, host::load_lanes(pack), bits);
        host::store_lanes(static_cast<T*>(stored), rounded);
        for (int i = 0; i < width; ++i) {
            T scalar;
            hs::stochastic_round_into(scalar, pack[i], scalar_bits[i]);
            require_equal<T>(pack[i], stored[i], scalar);
        }
    });
}

template <class T>
void check_conversions() {
    check_widen<T>();
    const auto x = floats_to_try();
    check_round<T>(boundary_patterns<T>());
    check_round<T>(x);
    check_stochastic<T>(boundary_patterns<T>());
    check_stochastic<T>(x);
}

template <class T>
T numbered(int i) {
    if constexpr (std::is_same_v<T, float>)
        return static_cast<float>(i);
    else
        return T::from_bits(static_cast<pattern_of<T>>(i));
}
template <class T>
bool same_bytes(T a, T b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Partial loads read `n` elements and give zeros beside them; partial stores write `n` elements and no byte more.
template <class T>
void check_partial() {
    T guard;
    std::memset(static_cast<void*>(&guard), 0xA5, sizeof guard);
    T full[width];
    for (int i = 0; i < width; ++i) full[i] = numbered<T>(i + 1);
    for (int n = 0; n < width; ++n) {
        // Elements that end where the array ends: a sanitizer sees a read beyond it.
        const std::vector<T> source(full, full + n);
        T loaded[width];
        host::store_lanes(static_cast<T*>(loaded), host::load_lanes(source.data(), n));
        std::array<T, width + 2> target;
        target.fill(guard);
        host::store_lanes(target.data() + 1, host::load_lanes(static_cast<T const*>(full)), n);
        for (int i = 0; i < width; ++i) {
            CAPTURE(n, i);
            REQUIRE(same_bytes(loaded[i], numbered<T>(i < n ? i + 1 : 0)));
            REQUIRE(same_bytes(target[static_cast<std::size_t>(i + 1)], i < n ? full[i] : guard));
        }
        REQUIRE(same_bytes(target.front(), guard));
        REQUIRE(same_bytes(target.back(), guard));
    }
}

std::uint32_t bits(host::lanes const& x, int i) { return hs::bits_of(x.v[i]); }

}  // namespace

TEST_CASE("fp16 lanes convert as scalars do") { check_conversions<hs::fp16>(); }
TEST_CASE("bf16 lanes convert as scalars do") { check_conversions<hs::bf16>(); }
TEST_CASE("fp8_e4m3 lanes convert as scalars do") { check_conversions<hs::fp8_e4m3>(); }
TEST_CASE("fp8_e5m2 lanes convert as scalars do") { check_conversions<hs::fp8_e5m2>(); }

TEST_CASE("partial loads and stores touch nothing outside") {
    check_partial<float>();
    check_partial<hs::fp16>();
    check_partial<hs::bf16>();
    check_partial<hs::fp8_e4m3>();
    check_partial<hs::fp8_e5m2>();
}

TEST_CASE("arithmetic of lanes has the bits of the scalar functions") {
    random_words random(7);
    for (int repeat = 0; repeat < 20000; ++repeat) {
        host::lanes a, b, c;
        for (int i = 0; i < width; ++i) {
            a.v[i] = random.any_float();
            b.v[i] = random.any_float();
            c.v[i] = random.any_float();
        }
        const auto product = fma(a, b, c), root = sqrt(a), magnitude = abs(a);
        const auto smaller = lesser(a, b), larger = greater(a, b);
        const auto less = a<b, greater = a> b, nonfinite = is_nonfinite(a);
        const auto chosen = select(less, a, select(greater, b, c));
        for (int i = 0; i < width; ++i) {
            const float x = a.v[i], y = b.v[i], z = c.v[i];
            const float expected = std::fma(x, y, z), expected_root = std::sqrt(x);
            bool same = std::isnan(expected) ? std::isnan(product.v[i]) : bits(product, i) == hs::bits_of(expected);
            same = same &&
                   (std::isnan(expected_root) ? std::isnan(root.v[i]) : bits(root, i) == hs::bits_of(expected_root));
            same = same && bits(magnitude, i) == (hs::bits_of(x) & 0x7FFFFFFFu);
            same = same && bits(smaller, i) == hs::bits_of(hs::lesser(x, y));
            same = same && bits(larger, i) == hs::bits_of(hs::greater(x, y));
            same = same && (nonfinite.v[i] != 0) == !std::isfinite(x);
            same = same && bits(chosen, i) == hs::bits_of(x < y ? x : (x > y ? y : z));
            if (!same) {
                CAPTURE(x, y, z);
                REQUIRE(same);
            }
        }
    }
}

TEST_CASE("masks, lane numbers and random bits go lane by lane") {
    for (int n = 0; n <= width; ++n) {
        const auto first = host::first_lanes(n);
        for (int i = 0; i < width; ++i) REQUIRE((first.v[i] != 0) == (i < n));
        REQUIRE(any(first) == (n > 0));
        REQUIRE(any(!first) == (n < width));
    }
    for (int only = 0; only < width; ++only) {
        host::lane_mask mask{};
        mask.v[only] = -1;
        REQUIRE(any(mask));
        REQUIRE(!any(mask && !mask));
    }
    const hs::noise_key key{0x12345678u, 0x9ABCDEF0u};
    for (std::uint32_t start : {0u, 1000u, 0xFFFFFFF0u}) {
        const auto random = random_bits(key, host::lane_numbers() + host::lane_bits(start));
        for (int i = 0; i < width; ++i)
            REQUIRE(random.v[i] == hs::random_bits(key, start + static_cast<std::uint32_t>(i)));
    }
}

TEST_CASE("a float in all lanes keeps its sign of zero") {
    const host::lanes zero(-0.0f);
    for (int i = 0; i < width; ++i) REQUIRE(bits(zero, i) == 0x80000000u);
}
