// SPDX-License-Identifier: Apache-2.0
// fma, sqrt and power: constant expressions give the bits that the processor gives.
#include <array>
#include <catch.hpp>
#include <cmath>
#include <cstring>
#include <halfstep/core/math.hpp>
#include <ios>
#include <limits>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;
using patterns::random_words;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct operands {
    float a, b, c;
};

// Corner cases of a fused multiply-add: ties that a product rounded first would break the other way, cancellation,
// signs of zero, subnormal and vanishing results, exact results next to a tie. Each is computed in a constant
// expression.
constexpr std::array<operands, 28> corners{{
    {0x1.000002p0f, 0x1.FFFFFEp-1f, -1.0f},     // cancellation leaves the product's lower half
    {0x1.FFFFFEp0f, 0x1.FFFFFEp0f, -4.0f},      //
    {0x1.000002p0f, 0x1.000002p0f, 0x1p-25f},   //
    {0x1.000002p0f, 0x1.000002p0f, -0x1p-46f},  //
    {1.0f, 0x1.000001p0f, 0x1p-24f},            // a tie, broken by nothing
    {0x1.000002p0f, 0x1p-24f, 1.0f},            // above a tie by the last bit of the product
    {0x1.FFFFFEp-1f, 0x1p-24f, 1.0f},           // below it
    {0x1p-24f, 1.0f, 1.0f},                     // on it
    {0x1p-24f, 1.0f, 0x1.000002p0f},            // on an odd one
    // Ties of float that double sees too, with a rest that double cannot hold: 2^-24 (1 - 2^-30) and 2^-24 (1 + 2^-30).
    {0x1.0002p-12f, 0x1.FFFCp-13f, 1.0f},
    {0x1.0002p-12f, 0x1.FFFCp-13f, 0x1.000002p0f},
    {-0x1.0002p-12f, 0x1.FFFCp-13f, -1.0f},
    {0x1.004p-12f, 0x1.FF802p-13f, 1.0f},
    {0x1p-100f, 0x1p-49f, 0.0f},               // the smallest subnormal
    {0x1p-100f, 0x1p-50f, 0.0f},               // half of it: to even, zero
    {0x1p-100f, 0x1.000002p-50f, 0.0f},        // more than half
    {-0x1p-100f, 0x1p-60f, 0.0f},              // vanishes to -0
    {0x1p-75f, 0x1p-75f, 0x1p-149f},           // less than a tie above a subnormal
    {0x1p-75f, 0x1p-75f, 0x1.8p-148f},         //
    {-0.0f, 1.0f, -0.0f},                      //
    {-0.0f, 1.0f, 0.0f},                       //
    {1.0f, 1.0f, -1.0f},                       // exact cancellation: +0
    {0x1p127f, 0x1p-10f, 0x1p-149f},           //
    {0x1.FFFFFEp127f, 1.0f, 0x1p102f},         // just below overflow
    {0x1.FFFFFEp127f, 0.5f, 0x1.FFFFFEp126f},  // the largest float, exactly
    {infinity, 2.0f, 1.0f},                    //
    {2.0f, 1.0f, -infinity},                   //
    {0.1f, 10.0f, -1.0f},                      //
}};
constexpr auto corners_in_constants = [] {
    std::array<float, corners.size()> result{};
    for (std::size_t i = 0; i < corners.size(); ++i) result[i] = hs::fma(corners[i].a, corners[i].b, corners[i].c);
    return result;
}();

constexpr std::array<float, 14> roots{0.0f,     -0.0f,     1.0f,        2.0f,      0x1.FFFFFEp-1f,   0x1.000002p0f,
                                      3.0f,     0x1p-149f, 0x1.8p-148f, 0x1p-126f, 0x1.FFFFFCp-127f, 0x1.FFFFFEp127f,
                                      infinity, 1e-8f};
constexpr auto roots_in_constants = [] {
    std::array<float, roots.size()> result{};
    for (std::size_t i = 0; i < roots.size(); ++i) result[i] = hs::sqrt(roots[i]);
    return result;
}();
constexpr std::array<double, 12> wide_roots{0.0,    -0.0,      2.0,       0x1.FFFFFFFFFFFFFp-1, 0x1.0000000000001p0,
                                            1e-300, 0x1p-1074, 0x1p-1022, 0x1.8p-1073,          0x1.FFFFFFFFFFFFFp1023,
                                            1e300,  0.999};
constexpr auto wide_roots_in_constants = [] {
    std::array<double, wide_roots.size()> result{};
    for (std::size_t i = 0; i < wide_roots.size(); ++i) result[i] = hs::sqrt(wide_roots[i]);
    return result;
}();

bool same(float a, float b) { return hs::bits_of(a) == hs::bits_of(b) || (std::isnan(a) && std::isnan(b)); }
bool same(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("fma in a constant expression is std::fma at its corners") {
    for (std::size_t i = 0; i < corners.size(); ++i) {
        const auto [a, b, c] = corners[i];
        CAPTURE(i, a, b, c, corners_in_constants[i]);
        REQUIRE(same(corners_in_constants[i], std::fma(a, b, c)));
        REQUIRE(same(hs::fma(a, b, c), std::fma(a, b, c)));
    }
}

TEST_CASE("the fma of constant expressions is std::fma for random patterns") {
    random_words random(11);
    for (int i = 0; i < 500'000; ++i) {
        const float a = random.any_float(), b = random.any_float();
        float c = random.any_float();
        // Half of the time an addend that cancels or nearly does; random exponents hardly ever meet.
        if (i % 2 == 0) c = hs::real_of(hs::bits_of(-(a * b)) + random() % 5 - 2);
        const float expected = std::fma(a, b, c), actual = hs::detail::exact_fma(a, b, c);
        if (!same(actual, expected)) {
            CAPTURE(a, b, c, expected, actual);
            REQUIRE(same(actual, expected));
        }
    }
}

TEST_CASE("sqrt in a constant expression is std::sqrt at its corners") {
    for (std::size_t i = 0; i < roots.size(); ++i) {
        CAPTURE(i, roots[i]);
        REQUIRE(same(roots_in_constants[i], std::sqrt(roots[i])));
        REQUIRE(same(hs::sqrt(roots[i]), std::sqrt(roots[i])));
    }
    for (std::size_t i = 0; i < wide_roots.size(); ++i) {
        CAPTURE(i, wide_roots[i]);
        REQUIRE(same(wide_roots_in_constants[i], std::sqrt(wide_roots[i])));
        REQUIRE(same(hs::sqrt(wide_roots[i]), std::sqrt(wide_roots[i])));
    }
}

TEST_CASE("the sqrt of constant expressions is std::sqrt for random patterns") {
    random_words random(12);
    for (int i = 0; i < 20'000; ++i) {
        const float x = random.any_float();
        const double wide = std::bit_cast<double>(std::uint64_t{random()} << 32 | random());
        // The square of a number, and its neighbours: where a root that is off by one bit shows.
        const double root = std::bit_cast<double>((std::uint64_t{random()} << 32 | random()) >> 2);
        const double near = std::bit_cast<double>(std::bit_cast<std::uint64_t>(root * root) + random() % 3 - 1);
        if (!same(static_cast<float>(hs::detail::exact_sqrt(static_cast<double>(x))), std::sqrt(x)))
            FAIL("root of " << std::hexfloat << x);
        for (double y : {wide, near})
            if (!same(hs::detail::exact_sqrt(y), std::sqrt(y))) FAIL("root of " << std::hexfloat << y);
    }
}

TEST_CASE("power multiplies, and takes no step too many") {
    STATIC_REQUIRE(hs::power(0.999, 0) == 1);
    STATIC_REQUIRE(hs::power(0.999, 1) == 0.999);
    STATIC_REQUIRE(hs::power(0.0, 0) == 1 && hs::power(0.0, 5) == 0);
    STATIC_REQUIRE(hs::power(2.0, 1023) == 0x1p1023 && hs::power(-3.0, 5) == -243);
    STATIC_REQUIRE(hs::power(3.0, 33) == 5559060566555523.0);  // the last power of three below 2^53
    for (double base : {0.9, 0.999, 0.9999999}) {
        long double product = 1;
        for (int exponent = 0; exponent < 3000; ++exponent, product *= base) {
            const double actual = hs::power(base, exponent);
            // Each of the at most 24 products of squaring rounds once, an error the next ones double.
            if (!(std::fabs(static_cast<long double>(actual) - product) <= 0x1p-40L * product))
                FAIL(base << " to the power " << exponent << " is not " << actual);
        }
    }
    // Steps beyond 2^31 are steps: nothing is left of the first moment's correction.
    REQUIRE(hs::power(0.999, (std::int64_t{1} << 31) + 5) < 1e-300);
}

TEST_CASE("inf and NaN are told from numbers, in float and double, in constant expressions") {
    STATIC_REQUIRE(hs::is_nonfinite(infinity) && hs::is_nonfinite(-infinity));
    STATIC_REQUIRE(hs::is_nonfinite(std::numeric_limits<float>::quiet_NaN()));
    STATIC_REQUIRE(!hs::is_nonfinite(std::numeric_limits<float>::max()) && !hs::is_nonfinite(0x1p-149f));
    STATIC_REQUIRE(hs::is_nonfinite(std::numeric_limits<double>::infinity()));
    STATIC_REQUIRE(hs::is_nonfinite(std::numeric_limits<double>::quiet_NaN()));
    STATIC_REQUIRE(!hs::is_nonfinite(std::numeric_limits<double>::max()) && !hs::is_nonfinite(1e39));
    patterns::for_strided_patterns([](std::uint32_t bits) {
        const float x = hs::real_of(bits);
        if (hs::is_nonfinite(x) == std::isfinite(x)) FAIL("pattern " << bits);
    });
}

TEST_CASE("absolute values clear the sign, of zero and NaN too") {
    REQUIRE(hs::bits_of(hs::abs(-0.0f)) == 0);
    REQUIRE(hs::bits_of(hs::abs(hs::real_of(0xFFC01234u))) == 0x7FC01234u);
    STATIC_REQUIRE(hs::abs(-1.5f) == 1.5f && hs::abs(1.5f) == 1.5f);
}

TEST_CASE("the lesser and the greater of two numbers are the second where either is a NaN or they are equal") {
    constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
    STATIC_REQUIRE(hs::lesser(1.0f, 2.0f) == 1 && hs::lesser(2.0f, 1.0f) == 1);
    STATIC_REQUIRE(hs::greater(1.0f, 2.0f) == 2 && hs::greater(2.0f, 1.0f) == 2);
    REQUIRE(hs::bits_of(hs::lesser(0.0f, -0.0f)) == 0x80000000u);
    REQUIRE(hs::bits_of(hs::greater(-0.0f, 0.0f)) == 0);
    REQUIRE(hs::lesser(not_a_number, 1.0f) == 1);
    REQUIRE(hs::greater(not_a_number, 1.0f) == 1);
    REQUIRE(std::isnan(hs::lesser(1.0f, not_a_number)));
    REQUIRE(std::isnan(hs::greater(1.0f, not_a_number)));
}
