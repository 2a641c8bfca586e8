// SPDX-License-Identifier: Apache-2.0
// Conversions of whole ranges: element for element those of single values, at any length and alignment.
#include <catch.hpp>
#include <halfstep/host/convert.hpp>
#include <span>
#include <stdexcept>
#include <vector>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;
using namespace patterns;

namespace {

template <class T>
void check_ranges() {
    random_words random(9);
    for (std::size_t size = 0; size <= 67; ++size)
        for (std::size_t offset : {0u, 1u, 3u}) {
            std::vector<float> wide(size + offset + 1);
            for (float& x : wide) x = random.any_float();
            std::vector<T> narrow(size + offset + 1, T(2.0f));
            const auto untouched = T(2.0f);
            hs::narrow(std::span<float const>(wide).subspan(offset, size), std::span(narrow).subspan(offset, size));
            for (std::size_t i = 0; i < narrow.size(); ++i) {
                const bool inside = i >= offset && i < offset + size;
                if (!(narrow[i] == (inside ? hs::narrow<T>(wide[i]) : untouched))) {
                    CAPTURE(size, offset, i, wide[i]);
                    REQUIRE(narrow[i].bits == (inside ? hs::narrow<T>(wide[i]) : untouched).bits);
                }
            }
            std::vector<float> again(narrow.size(), -7);
            hs::widen(std::span<T const>(narrow).subspan(offset, size), std::span(again).subspan(offset, size));
            for (std::size_t i = 0; i < again.size(); ++i) {
                const bool inside = i >= offset && i < offset + size;
                if (hs::bits_of(again[i]) != hs::bits_of(inside ? hs::widen(narrow[i]) : -7)) {
                    CAPTURE(size, offset, i, narrow[i].bits, again[i]);
                    REQUIRE(hs::bits_of(again[i]) == hs::bits_of(inside ? hs::widen(narrow[i]) : -7));
                }
            }
        }
}

}  // namespace

TEST_CASE("ranges of any length convert as single values do, and nothing beside them is written") {
    check_ranges<hs::fp16>();
    check_ranges<hs::bf16>();
    check_ranges<hs::fp8_e4m3>();
    check_ranges<hs::fp8_e5m2>();
}

TEST_CASE("every fp16 pattern has one value, at the end of a range as in the middle of it") {
    // The middle goes through lanes, the end through scalars; a signaling NaN must come out alike.
    for (std::uint32_t pattern = 0; pattern <= 0xFFFF; ++pattern) {
        const std::vector<hs::fp16> narrow(17, hs::fp16::from_bits(static_cast<std::uint16_t>(pattern)));
        float wide[17];
        hs::widen(std::span<hs::fp16 const>(narrow), std::span<float>(wide));
        if (hs::bits_of(wide[0]) != hs::bits_of(wide[16])) {
            CAPTURE(pattern);
            REQUIRE(hs::bits_of(wide[0]) == hs::bits_of(wide[16]));
        }
    }
}

TEST_CASE("ranges of different sizes are refused") {
    std::vector<float> wide(3);
    std::vector<hs::bf16> narrow(4);
    REQUIRE_THROWS_AS(hs::narrow(std::span<float const>(wide), std::span(narrow)), std::invalid_argument);
    REQUIRE_THROWS_AS(hs::widen(std::span<hs::bf16 const>(narrow), std::span(wide)), std::invalid_argument);
}
