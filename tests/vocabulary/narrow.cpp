// SPDX-License-Identifier: Apache-2.0
// Floats rounded to the narrow formats: against a search for the nearest value, recorded conversions and the compiler's
// _Float16.
#include <catch.hpp>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "vocabulary/patterns.hpp"
#include "vocabulary/recorded_conversions.hpp"

namespace hs = halfstep;
using namespace patterns;

namespace {

template <class T>
constexpr std::uint32_t to(float x) {
    return hs::narrow<T>(x).bits;
}

// Ties, overflow and underflow of storage formats, as numbers that can be looked up.
static_assert(to<hs::fp16>(65519) == 0x7BFF && to<hs::fp16>(65520) == 0x7C00 && to<hs::fp16>(-65520) == 0xFC00);
static_assert(to<hs::fp8_e5m2>(61439) == 0x7B && to<hs::fp8_e5m2>(61440) == 0x7C && to<hs::fp8_e5m2>(-61440) == 0xFC);
static_assert(to<hs::fp8_e4m3>(448) == 0x7E && to<hs::fp8_e4m3>(464) == 0x7E && to<hs::fp8_e4m3>(465) == 0x7E &&
              to<hs::fp8_e4m3>(1e9f) == 0x7E && to<hs::fp8_e4m3>(-1e9f) == 0xFE);
static_assert(to<hs::fp16>(0x1p-25f) == 0 && to<hs::fp16>(0x1.000002p-25f) == 1 && to<hs::fp16>(-0x1p-25f) == 0x8000);
static_assert(to<hs::fp16>(1e-8f) == 0 && to<hs::bf16>(1e-8f) != 0);

template <class T>
void require_equal(float x, std::uint32_t actual, std::uint32_t expected) {
    if (actual == expected) return;
    CAPTURE(x, hs::bits_of(x));
    REQUIRE(actual == expected);
}

/// Every value, midpoint and neighbour, and a stride through all exponents, against the search.
template <class T>
void check_nearest() {
    const nearest_by_search<T> nearest;
    for (float x : boundary_patterns<T>()) require_equal<T>(x, to<T>(x), nearest(x));
    for_strided_patterns([&](std::uint32_t bits) {
        const float x = hs::real_of(bits);
        if (!std::isnan(x)) require_equal<T>(x, to<T>(x), nearest(x));
    });
    for (float x : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(), 0x1p-149f, 0.0f})
        for (float signed_x : {x, -x}) require_equal<T>(signed_x, to<T>(signed_x), nearest(signed_x));
}

template <class T, class Recorded>
void check_recorded() {
    std::vector<pattern_of<T>> narrowed;
    for (float x : boundary_patterns<T>()) narrowed.push_back(hs::narrow<T>(x).bits);
    REQUIRE(narrowed.size() == Recorded::boundaries);
    REQUIRE(crc32(std::span<pattern_of<T> const>(narrowed)) == Recorded::narrowed_crc);
    for (auto [from, expected] : Recorded::samples)
        require_equal<T>(hs::real_of(from), to<T>(hs::real_of(from)), expected);
}

template <class T>
void check_round_trip() {
    for (std::uint32_t pattern = 0; pattern < 2 * sign_bit<T>; ++pattern) {
        const auto x = T::from_bits(static_cast<pattern_of<T>>(pattern));
        if (!std::isnan(hs::widen(x))) require_equal<T>(hs::widen(x), to<T>(hs::widen(x)), pattern);
    }
}

/// A NaN stays a NaN of its sign, and a quiet one: its first mantissa bit is set.
template <class T>
void check_nans() {
    for (std::uint32_t bits : nan_patterns) {
        CAPTURE(bits);
        const auto narrow = hs::narrow<T>(hs::real_of(bits));
        REQUIRE(std::isnan(hs::widen(narrow)));
        REQUIRE(((narrow.bits & sign_bit<T>) != 0) == (bits >> 31 != 0));
        REQUIRE((narrow.bits >> (format_of<T>::mantissa_bits - 1) & 1) == 1);
    }
}

}  // namespace

TEST_CASE("fp16 is the nearest value, ties to even") { check_nearest<hs::fp16>(); }
TEST_CASE("bf16 is the nearest value, ties to even") { check_nearest<hs::bf16>(); }
TEST_CASE("fp8_e4m3 is the nearest value, ties to even, saturated at 448") { check_nearest<hs::fp8_e4m3>(); }
TEST_CASE("fp8_e5m2 is the nearest value, ties to even") { check_nearest<hs::fp8_e5m2>(); }

TEST_CASE("rounding is that of numpy and ml_dtypes at every value and midpoint") {
    check_recorded<hs::fp16, recorded::fp16>();
    check_recorded<hs::bf16, recorded::bf16>();
    check_recorded<hs::fp8_e4m3, recorded::fp8_e4m3>();
    check_recorded<hs::fp8_e5m2, recorded::fp8_e5m2>();
}

TEST_CASE("every pattern but NaN survives widening and narrowing") {
    check_round_trip<hs::fp16>();
    check_round_trip<hs::bf16>();
    check_round_trip<hs::fp8_e4m3>();
    check_round_trip<hs::fp8_e5m2>();
}

TEST_CASE("a NaN of any payload narrows to a quiet NaN of its sign") {
    check_nans<hs::fp16>();
    check_nans<hs::bf16>();
    check_nans<hs::fp8_e4m3>();
    check_nans<hs::fp8_e5m2>();
}

TEST_CASE("fp8_e4m3 saturates infinities, as it has none") {
    const float infinity = std::numeric_limits<float>::infinity();
    REQUIRE(hs::widen(hs::fp8_e4m3(infinity)) == 448);
    REQUIRE(hs::widen(hs::fp8_e4m3(-infinity)) == -448);
}

TEST_CASE("field case 5.4: narrowing rounds to nearest even and keeps subnormals") {
    // Truncation would give 0x3E89, 0x3F80 and 0x3F81.
    REQUIRE(to<hs::bf16>(hs::real_of(0x3E89CCD5)) == 0x3E8A);
    REQUIRE(to<hs::bf16>(hs::real_of(0x3F808000)) == 0x3F80);
    REQUIRE(to<hs::bf16>(hs::real_of(0x3F818000)) == 0x3F82);
    // Small fp16 gradients unscaled by 65536 are small, not zero.
    REQUIRE(hs::bits_of(hs::widen(hs::fp16::from_bits(0x0001)) / 65536) == 0x2B800000);
    REQUIRE(hs::bits_of(hs::widen(hs::fp16::from_bits(0x03FF)) / 65536) == 0x307FC000);
    // The smallest bf16 survives load and store.
    const float smallest = hs::widen(hs::bf16::from_bits(0x0001));
    REQUIRE(hs::bits_of(smallest) == 0x00010000);
    REQUIRE(hs::bf16(smallest).bits == 0x0001);
}

TEST_CASE("an fp16 compares by its bits") {
    REQUIRE(hs::fp16(1.0f) == hs::fp16::from_bits(0x3C00));
    REQUIRE(hs::fp16(0.0f) != hs::fp16(-0.0f));
    REQUIRE(hs::fp16::from_bits(0x7E00) == hs::fp16::from_bits(0x7E00));
    STATIC_REQUIRE(!std::is_convertible_v<float, hs::fp16> && !std::is_convertible_v<hs::fp16, float>);
}

#if defined(__FLT16_MANT_DIG__)
TEST_CASE("fp16 rounds as the compiler's _Float16, at every value and midpoint and a million patterns between") {
    const auto theirs = [](float x) { return std::uint32_t{std::bit_cast<std::uint16_t>(static_cast<_Float16>(x))}; };
    for (float x : boundary_patterns<hs::fp16>()) require_equal<hs::fp16>(x, to<hs::fp16>(x), theirs(x));
    for_strided_patterns([&](std::uint32_t bits) {
        const float x = hs::real_of(bits);
        require_equal<hs::fp16>(x, to<hs::fp16>(x), theirs(x));  // NaNs too: the same payload
    });
    for (std::uint32_t bits : nan_patterns) {
        const float x = hs::real_of(bits);
        require_equal<hs::fp16>(x, to<hs::fp16>(x), theirs(x));
    }
}
#endif
