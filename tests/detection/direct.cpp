// SPDX-License-Identifier: Apache-2.0
// Detectors asked directly, without a step: every bit pattern, every verdict, and one segment of gradients at a time.
#include <bit>
#include <catch.hpp>
#include <cmath>
#include <halfstep/host/inspect.hpp>
#include <halfstep/overflow_detection/exponent_check.hpp>
#include <halfstep/overflow_detection/no_check.hpp>
#include <halfstep/overflow_detection/nonfinite_check.hpp>
#include <halfstep/overflow_detection/norm_check.hpp>
#include <limits>
#include <type_traits>
#include <vector>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;
using patterns::random_words;

namespace stranger {

/// A detector for plain numbers: it flags zeros, so that filled-up lanes would show.
struct zero_check {
    using slot = hs::overflow_detection_slot;
    bool flags(float gradient) const { return gradient == 0; }
    bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
/// The same on lanes.
struct zero_check_on_lanes {
    using slot = hs::overflow_detection_slot;
    template <class Real>
    auto flags(Real gradient) const {
        return gradient == Real(0.0f);
    }
    bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
/// Looks at bits, one number at a time.
struct sign_check {
    using slot = hs::overflow_detection_slot;
    template <class T>
    bool flags_bits(std::uint32_t bits) const {
        return (bits & ~hs::format::magnitude_mask<hs::dtype_traits<T>>) != 0;
    }
    bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
static_assert(hs::value_detection<zero_check> && hs::value_detection<zero_check_on_lanes> &&
              hs::bit_detection<sign_check, hs::fp16>);

}  // namespace stranger

namespace {

template <class T>
T pattern(std::uint32_t bits) {
    if constexpr (std::is_same_v<T, float>)
        return hs::real_of(bits);
    else
        return T::from_bits(static_cast<typename T::bits_type>(bits));
}

/// `flags_bits` of scalars and of lanes, against the standard library's verdict on the widened value.
template <class T>
void check_exponents() {
    namespace host = hs::host;
    for (std::uint32_t bits = 0; bits < std::uint32_t{1} << (8 * sizeof(T)); bits += host::lane_count) {
        const auto lanes = hs::exponent_check::flags_bits<T>(host::lane_bits(bits) + host::lane_numbers());
        for (int i = 0; i < host::lane_count; ++i) {
            const std::uint32_t each = bits + static_cast<std::uint32_t>(i);
            const bool expected = !std::isfinite(hs::widen(pattern<T>(each)));
            if (hs::exponent_check::flags_bits<T>(each) != expected || (lanes.v[i] != 0) != expected)
                FAIL("pattern " << each);
        }
    }
}

/// `inspect_segment` over all patterns of `T` that are finite, and over each that is not among 67 ones.
template <class T, class Detection>
void check_all_patterns() {
    std::vector<T> finite;
    constexpr hs::gradient_statistics nothing{};
    std::vector<T> ones(67, T(1.0f));
    for (std::uint32_t bits = 0; bits < std::uint32_t{1} << (8 * sizeof(T)); ++bits) {
        const T x = pattern<T>(bits);
        if (std::isfinite(hs::widen(x))) {
            finite.push_back(x);
            continue;
        }
        const std::size_t place = bits % 67;
        ones[place] = x;
        if (!hs::host::inspect_segment<nothing>(ones.data(), 67, Detection{}).flagged) FAIL("missed pattern " << bits);
        ones[place] = T(1.0f);
    }
    const auto size = static_cast<std::int64_t>(finite.size());
    REQUIRE(hs::host::inspect_segment<nothing>(finite.data(), size, Detection{}).flagged == 0);
}

/// The stated order of one segment's sum: element i to chain i mod 64, each by one fma, then chains pairwise.
template <class T>
void check_sum_of_squares() {
    random_words random(41);
    std::vector<std::int64_t> sizes;
    for (std::int64_t n = 0; n <= 200; ++n) sizes.push_back(n);
    for (std::int64_t n : {1000, 4095, 4096}) sizes.push_back(n);
    for (std::int64_t n : sizes) {
        std::vector<T> gradient;
        for (std::int64_t i = 0; i < n; ++i)
            gradient.push_back(
                T(std::ldexp(1 + static_cast<float>(random() % 8) / 8, static_cast<int>(random() % 12) - 6)));
        std::vector<float> chains(64, 0.0f);
        for (std::size_t i = 0; i < gradient.size(); ++i)
            chains[i % 64] = std::fma(hs::widen(gradient[i]), hs::widen(gradient[i]), chains[i % 64]);
        while (chains.size() > 1) {
            std::vector<float> next;
            for (std::size_t i = 0; i < chains.size(); i += 2) next.push_back(chains[i] + chains[i + 1]);
            chains = next;
        }
        constexpr hs::gradient_statistics wanted{.sum_of_squares = true};
        const auto partial = hs::host::inspect_segment<wanted>(gradient.data(), n, hs::norm_check{});
        CAPTURE(n);
        REQUIRE(partial.sum_of_squares == chains[0]);
    }
}

template <class Detection>
hs::gradient_report judged(std::vector<float> const& gradients) {
    constexpr hs::gradient_statistics wanted = hs::needed_statistics<Detection>;
    const auto partial =
        hs::host::inspect_segment<wanted>(gradients.data(), static_cast<std::int64_t>(gradients.size()), Detection{});
    hs::partial_fold fold;
    fold.add(&partial, 1);
    return fold.result();
}

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("nonfinite_check flags NaN and infinities and no number, in constant expressions too") {
    STATIC_REQUIRE(hs::nonfinite_check::flags(not_a_number) && hs::nonfinite_check::flags(-not_a_number));
    STATIC_REQUIRE(hs::nonfinite_check::flags(infinity) && hs::nonfinite_check::flags(-infinity));
    STATIC_REQUIRE(!hs::nonfinite_check::flags(std::numeric_limits<float>::max()));
    STATIC_REQUIRE(!hs::nonfinite_check::flags(0.0f) && !hs::nonfinite_check::flags(0x1p-149f));
    check_all_patterns<hs::fp16, hs::nonfinite_check>();
    check_all_patterns<hs::bf16, hs::nonfinite_check>();
    check_all_patterns<hs::fp8_e4m3, hs::nonfinite_check>();
    check_all_patterns<hs::fp8_e5m2, hs::nonfinite_check>();
}

TEST_CASE("exponent_check agrees with the standard library on every pattern, as a scalar and in lanes") {
    check_exponents<hs::fp16>();
    check_exponents<hs::bf16>();
    check_exponents<hs::fp8_e5m2>();
    check_all_patterns<hs::fp16, hs::exponent_check>();
    check_all_patterns<hs::bf16, hs::exponent_check>();
    check_all_patterns<hs::fp8_e5m2, hs::exponent_check>();
    patterns::for_strided_patterns([](std::uint32_t bits) {
        if (hs::exponent_check::flags_bits<float>(bits) == std::isfinite(hs::real_of(bits))) FAIL("pattern " << bits);
    });
}

TEST_CASE("what detectors say of themselves") {
    STATIC_REQUIRE(hs::value_detection<hs::nonfinite_check> && !hs::value_detection<hs::norm_check>);
    STATIC_REQUIRE(hs::bit_detection<hs::exponent_check, hs::bf16> && !hs::bit_detection<hs::no_check, hs::bf16>);
    STATIC_REQUIRE(hs::detects_overflow<hs::nonfinite_check> && !hs::detects_overflow<hs::no_check>);
    STATIC_REQUIRE(!hs::sees_overflow_in<hs::exponent_check, hs::fp8_e4m3> &&
                   hs::sees_overflow_in<hs::exponent_check, float> &&
                   hs::sees_overflow_in<hs::exponent_check, hs::fp8_e5m2> &&
                   hs::sees_overflow_in<hs::nonfinite_check, hs::fp8_e4m3>);
    STATIC_REQUIRE(hs::needed_statistics<hs::norm_check>.sum_of_squares);
    STATIC_REQUIRE(hs::needed_statistics<hs::nonfinite_check> == hs::gradient_statistics{});
    // A detector that looks at nothing costs no read of the gradients; one that does, does.
    constexpr hs::gradient_statistics none{}, squares{.sum_of_squares = true};
    STATIC_REQUIRE(!hs::inspects_elements<float, hs::no_check, none>);
    STATIC_REQUIRE(hs::inspects_elements<float, hs::no_check, squares>);
    STATIC_REQUIRE(hs::inspects_elements<hs::fp16, hs::exponent_check, none>);
}

TEST_CASE("the verdict on a report") {
    constexpr hs::gradient_report clean{.sum_of_squares = 1e38}, flagged{.flagged = true};
    STATIC_REQUIRE(!hs::nonfinite_check{}.overflowed(clean) && hs::nonfinite_check{}.overflowed(flagged));
    STATIC_REQUIRE(!hs::exponent_check{}.overflowed(clean) && hs::exponent_check{}.overflowed(flagged));
    STATIC_REQUIRE(!hs::norm_check{}.overflowed(clean) && hs::norm_check{}.overflowed(flagged));
    STATIC_REQUIRE(!hs::no_check{}.overflowed(flagged));
    constexpr hs::gradient_report infinite{.sum_of_squares = std::numeric_limits<double>::infinity()};
    constexpr hs::gradient_report undefined{.sum_of_squares = std::numeric_limits<double>::quiet_NaN()};
    STATIC_REQUIRE(hs::norm_check{}.overflowed(infinite) && hs::norm_check{}.overflowed(undefined));
    STATIC_REQUIRE(!hs::nonfinite_check{}.overflowed(infinite));
}

TEST_CASE("norm_check sees a NaN, an infinity and an overflow of finite squares in the sum alone") {
    REQUIRE(!hs::norm_check{}.overflowed(judged<hs::norm_check>({1, 2, 3})));
    REQUIRE(judged<hs::norm_check>({1, 2, 3}).sum_of_squares == 14);
    for (float bad : {not_a_number, infinity, -infinity, 1e20f, -3e38f})
        REQUIRE(hs::norm_check{}.overflowed(judged<hs::norm_check>({1, bad, 3})));
    // An infinity and a NaN together are still seen.
    REQUIRE(hs::norm_check{}.overflowed(judged<hs::norm_check>({infinity, not_a_number})));
}

TEST_CASE("a detector for plain numbers is asked about every element and about no filled-up lane") {
    constexpr hs::gradient_statistics none{};
    for (std::int64_t n = 0; n <= 130; ++n) {
        std::vector<float> gradient(static_cast<std::size_t>(n), 1.0f);
        std::vector<hs::bf16> brain(static_cast<std::size_t>(n), hs::bf16(1.0f));
        CAPTURE(n);
        REQUIRE(hs::host::inspect_segment<none>(gradient.data(), n, stranger::zero_check{}).flagged == 0);
        REQUIRE(hs::host::inspect_segment<none>(gradient.data(), n, stranger::zero_check_on_lanes{}).flagged == 0);
        REQUIRE(hs::host::inspect_segment<none>(gradient.data(), n, stranger::sign_check{}).flagged == 0);
        for (std::size_t place = 0; place < gradient.size(); ++place) {
            gradient[place] = 0;
            bool found = hs::host::inspect_segment<none>(gradient.data(), n, stranger::zero_check{}).flagged != 0;
            found = found &&
                    hs::host::inspect_segment<none>(gradient.data(), n, stranger::zero_check_on_lanes{}).flagged != 0;
            gradient[place] = -1;
            found = found && hs::host::inspect_segment<none>(gradient.data(), n, stranger::sign_check{}).flagged != 0;
            gradient[place] = 1;
            brain[place] = hs::bf16(-1.0f);
            found = found && hs::host::inspect_segment<none>(brain.data(), n, stranger::sign_check{}).flagged != 0;
            brain[place] = hs::bf16(1.0f);
            if (!found) FAIL("place " << place);
        }
    }
}

TEST_CASE("squares are added in the stated order, at any length, for every dtype") {
    check_sum_of_squares<float>();
    check_sum_of_squares<hs::fp16>();
    check_sum_of_squares<hs::bf16>();
    check_sum_of_squares<hs::fp8_e4m3>();
    check_sum_of_squares<hs::fp8_e5m2>();
}
