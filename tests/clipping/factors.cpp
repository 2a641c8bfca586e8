// SPDX-License-Identifier: Apache-2.0
// The clippings asked directly: factors, clamps, what they refuse.
#include <catch.hpp>
#include <cmath>
#include <halfstep/gradient_clipping/clip_by_norm.hpp>
#include <halfstep/gradient_clipping/clip_by_value.hpp>
#include <halfstep/gradient_clipping/no_clipping.hpp>
#include <halfstep/host/lanes.hpp>
#include <limits>
#include <stdexcept>
#include <string>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;
namespace host = halfstep::host;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

constexpr double factor(float max_norm, double norm) {
    return hs::clip_by_norm{.max_norm = max_norm}.factor({0, norm});
}
constexpr float clipped(float max_value, float gradient) {
    return hs::clip_by_value{.max_value = max_value}.clip(gradient);
}

template <class Clipping>
std::string refusal(Clipping const& clipping) {
    try {
        clipping.validate();
    } catch (std::invalid_argument const& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("clip_by_norm's factor is min(1, max_norm / (norm + 1e-6))") {
    STATIC_REQUIRE(factor(1, 5) == 1 / (5 + 1e-6));
    STATIC_REQUIRE(factor(2.5f, 5) == 2.5 / (5 + 1e-6));
    STATIC_REQUIRE(factor(1, 0) == 1 && factor(1, 0.5) == 1);
    STATIC_REQUIRE(factor(1, 1) == 1 / (1 + 1e-6) && factor(1, 1) < 1);  // as PyTorch's clip_grad_norm_
    STATIC_REQUIRE(factor(1, 1 - 2e-6) == 1);
    STATIC_REQUIRE(factor(1, 1e300) == 1e-300);
    // The norm of one group alone has no say.
    STATIC_REQUIRE(hs::clip_by_norm{.max_norm = 1}.factor({100, 0.5}) == 1);
    STATIC_REQUIRE(hs::clip_by_norm{.max_norm = 1}.factor({0.1, 4 - 1e-6}) == 0.25);
}

TEST_CASE("a factor lies in [0, 1] for every finite norm, and a clipped norm does not exceed the threshold") {
    for (float max_norm : {0x1p-149f, 1e-6f, 0.3f, 1.0f, 1e6f, std::numeric_limits<float>::max()})
        for (double norm : {0.0, 1e-300, 1e-7, 0.3, 1.0, 1e6, 1e38, 1e200}) {
            const double f = factor(max_norm, norm);
            CAPTURE(max_norm, norm, f);
            REQUIRE((f >= 0 && f <= 1));
            REQUIRE(f * norm <= static_cast<double>(max_norm));
        }
}

TEST_CASE("the other clippings leave the norm alone") {
    STATIC_REQUIRE(hs::no_clipping{}.factor({100, 1e30}) == 1);
    STATIC_REQUIRE(hs::clip_by_value{.max_value = 0.5f}.factor({100, 1e30}) == 1);
    STATIC_REQUIRE(hs::clip_by_norm::needs.sum_of_squares);
}

TEST_CASE("clip_by_value clamps both ways and leaves what is inside, zeros with their signs too") {
    STATIC_REQUIRE(clipped(2, 3) == 2 && clipped(2, -3) == -2);
    STATIC_REQUIRE(clipped(2, 2) == 2 && clipped(2, -2) == -2 && clipped(2, 1.5f) == 1.5f &&
                   clipped(2, -1.5f) == -1.5f);
    STATIC_REQUIRE(clipped(2, infinity) == 2 && clipped(2, -infinity) == -2);
    REQUIRE(hs::bits_of(clipped(2, -0.0f)) == 0x80000000u);
    REQUIRE(clipped(0x1p-149f, 1.0f) == 0x1p-149f);
}

TEST_CASE("clip_by_value keeps a NaN a NaN") {
    REQUIRE(std::isnan(clipped(2, not_a_number)));
    REQUIRE(std::isnan(clipped(2, -not_a_number)));
}

TEST_CASE("clip_by_value clamps lanes as it clamps numbers") {
    patterns::random_words random(51);
    const hs::clip_by_value clipping{.max_value = 1.5f};
    for (int repeat = 0; repeat < 20000; ++repeat) {
        host::lanes x;
        for (int i = 0; i < host::lane_count; ++i) x.v[i] = random.any_float();
        const host::lanes y = clipping.clip(x);
        for (int i = 0; i < host::lane_count; ++i) {
            const float expected = clipping.clip(float{x.v[i]});
            if (hs::bits_of(y.v[i]) != hs::bits_of(expected)) FAIL("clamping " << x.v[i] << " gave " << y.v[i]);
        }
    }
}

TEST_CASE("field case 4.3: a threshold that is no positive number is refused, zero too") {
    const std::string norm = "halfstep: clip_by_norm.max_norm must be positive and finite";
    const std::string value = "halfstep: clip_by_value.max_value must be positive and finite";
    for (float bad : {-1.0f, 0.0f, -0.0f, not_a_number, infinity, -infinity}) {
        CAPTURE(bad);
        REQUIRE(refusal(hs::clip_by_norm{.max_norm = bad}) == norm);
        REQUIRE(refusal(hs::clip_by_value{.max_value = bad}) == value);
    }
    for (float good : {0x1p-149f, 1.0f, std::numeric_limits<float>::max()}) {
        REQUIRE(refusal(hs::clip_by_norm{.max_norm = good}).empty());
        REQUIRE(refusal(hs::clip_by_value{.max_value = good}).empty());
    }
}
