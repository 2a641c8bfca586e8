// SPDX-License-Identifier: Apache-2.0
// Narrow patterns as floats, exhaustively: against the definition of each format, recorded tables and the compiler's
// _Float16.
#include <catch.hpp>
#include <cmath>
#include <vector>

#include "vocabulary/patterns.hpp"
#include "vocabulary/recorded_conversions.hpp"

namespace hs = halfstep;
using namespace patterns;

namespace {

// The formats of the OCP and IEEE documents in numbers.
template <class T>
constexpr float of(std::uint32_t bits) {
    return hs::widen(T::from_bits(static_cast<pattern_of<T>>(bits)));
}
static_assert(of<hs::fp16>(0x7BFF) == 65504 && of<hs::fp16>(0x0400) == 0x1p-14f && of<hs::fp16>(0x0001) == 0x1p-24f);
static_assert(of<hs::bf16>(0x7F7F) == 0x1.FEp127f && of<hs::bf16>(0x0080) == 0x1p-126f &&
              of<hs::bf16>(0x0001) == 0x1p-133f);
static_assert(of<hs::fp8_e4m3>(0x7E) == 448 && of<hs::fp8_e4m3>(0x08) == 0x1p-6f && of<hs::fp8_e4m3>(0x01) == 0x1p-9f);
static_assert(of<hs::fp8_e5m2>(0x7B) == 57344 && of<hs::fp8_e5m2>(0x04) == 0x1p-14f &&
              of<hs::fp8_e5m2>(0x01) == 0x1p-16f);
static_assert(of<hs::fp16>(0x3C01) - 1 == 0x1p-10f && of<hs::bf16>(0x3F81) - 1 == 0x1p-7f &&
              of<hs::fp8_e4m3>(0x39) - 1 == 0x1p-3f && of<hs::fp8_e5m2>(0x3D) - 1 == 0x1p-2f);

/// Class and sign of every pattern, and the exact value of the finite ones.
template <class T>
void check_all_patterns() {
    constexpr std::uint32_t magnitude_mask = sign_bit<T> - 1, largest = format_of<T>::largest_bits;
    for (std::uint32_t pattern = 0; pattern < 2 * sign_bit<T>; ++pattern) {
        const float x = of<T>(pattern);
        const std::uint32_t magnitude = pattern & magnitude_mask;
        bool right = std::signbit(x) == ((pattern & sign_bit<T>) != 0);
        if (magnitude <= largest)
            right = right && static_cast<double>(x) == value_by_definition<T>(pattern);
        else if (format_of<T>::has_infinity && magnitude == largest + 1)
            right = right && std::isinf(x);
        else
            right = right && std::isnan(x);
        if (!right) {
            CAPTURE(pattern, x);
            FAIL("wrong value");
        }
    }
}

/// The widened finite patterns are those that numpy and ml_dtypes gave.
template <class T, class Recorded>
void check_checksum() {
    std::vector<std::uint32_t> widened;
    for (std::uint32_t sign : {0u, sign_bit<T>})
        for (std::uint32_t pattern = 0; pattern <= format_of<T>::largest_bits; ++pattern)
            widened.push_back(hs::bits_of(of<T>(sign | pattern)));
    REQUIRE(crc32(std::span<std::uint32_t const>(widened)) == Recorded::widened_crc);
}

/// An fp8 table entry: the same bits, or a NaN of the same sign.
template <class T>
void check_table(std::uint32_t const (&expected)[256]) {
    for (std::uint32_t pattern = 0; pattern < 256; ++pattern) {
        const float x = of<T>(pattern), y = hs::real_of(expected[pattern]);
        CAPTURE(pattern, x, y);
        if (std::isnan(y))
            REQUIRE((std::isnan(x) && std::signbit(x) == std::signbit(y)));
        else
            REQUIRE(hs::bits_of(x) == expected[pattern]);
    }
}

}  // namespace

TEST_CASE("every fp16 pattern widens to the value that IEEE 754 defines") { check_all_patterns<hs::fp16>(); }
TEST_CASE("every bf16 pattern widens to the value of its upper half") { check_all_patterns<hs::bf16>(); }
TEST_CASE("every fp8_e4m3 pattern widens to the value that OCP FP8 defines") { check_all_patterns<hs::fp8_e4m3>(); }
TEST_CASE("every fp8_e5m2 pattern widens to the value that OCP FP8 defines") { check_all_patterns<hs::fp8_e5m2>(); }

TEST_CASE("all finite patterns widen as numpy and ml_dtypes recorded") {
    check_checksum<hs::fp16, recorded::fp16>();
    check_checksum<hs::bf16, recorded::bf16>();
    check_checksum<hs::fp8_e4m3, recorded::fp8_e4m3>();
    check_checksum<hs::fp8_e5m2, recorded::fp8_e5m2>();
}
TEST_CASE("both fp8 tables are the recorded ones, NaN and infinity included") {
    check_table<hs::fp8_e4m3>(recorded::fp8_e4m3_widened);
    check_table<hs::fp8_e5m2>(recorded::fp8_e5m2_widened);
}

TEST_CASE("a bf16 NaN keeps its payload when it is widened") {
    for (std::uint32_t pattern : {0x7F81u, 0x7FC0u, 0x7FFFu, 0xFF81u, 0xFFD5u})
        REQUIRE(hs::bits_of(of<hs::bf16>(pattern)) == pattern << 16);
}

#if defined(__FLT16_MANT_DIG__)
TEST_CASE("every fp16 pattern widens to the bits of the compiler's _Float16, quieted NaNs included") {
    for (std::uint32_t pattern = 0; pattern <= 0xFFFF; ++pattern) {
        const auto theirs = static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(pattern)));
        if (hs::bits_of(of<hs::fp16>(pattern)) != hs::bits_of(theirs)) {
            CAPTURE(pattern, theirs);
            REQUIRE(hs::bits_of(of<hs::fp16>(pattern)) == hs::bits_of(theirs));
        }
    }
}
#endif
