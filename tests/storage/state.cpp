// SPDX-License-Identifier: Apache-2.0
// Moments in fp32: subnormal ones are flushed to zero unless they are kept by name.
#include <catch.hpp>
#include <cmath>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr float smallest_normal = 0x1p-126f;

template <class State>
std::uint32_t stored(float value) {
    float moment = 7;
    State{}.store(value, moment, hs::noise<float>{});
    return hs::bits_of(moment);
}

/// The moment of a step of SGD with momentum 0.5 after `gradients`, on every element of `count`.
template <class State>
std::vector<float> moments_after(std::vector<float> const& gradients, std::size_t count) {
    using recipe = hs::recipe<hs::dtype<float>{}, hs::sgd<hs::classical_momentum>{.momentum = 0.5f}, State{}>;
    std::vector<float> parameters(count), gradient(count), moments;
    hs::optimizer_step opt{recipe{}};
    opt.bind(parameters, gradient);
    for (float g : gradients) {
        for (float& x : gradient) x = g;
        REQUIRE(opt.step(0.0f).applied);
    }
    opt.visit_state([&](hs::state_entry const& entry) {
        if (entry.component != "moment") return;
        moments.resize(entry.bytes.size() / 4);
        std::memcpy(moments.data(), entry.bytes.data(), entry.bytes.size());
    });
    return moments;
}

using flush = hs::fp32_state<>;
using keep = hs::fp32_state<hs::subnormals::keep>;

}  // namespace

TEST_CASE("fp32_state flushes what is below the smallest normal value, and nothing else") {
    STATIC_REQUIRE(std::is_same_v<flush, hs::fp32_state<hs::subnormals::flush>>);
    const float largest_subnormal = std::nextafter(smallest_normal, 0.0f);
    for (float x : {largest_subnormal, -largest_subnormal, 0x1p-149f, -0x1p-149f, 0.0f, -0.0f})
        REQUIRE(stored<flush>(x) == 0);
    const float infinity = std::numeric_limits<float>::infinity();
    for (float x : {smallest_normal, -smallest_normal, 1.0f, -3e38f, infinity, -infinity})
        REQUIRE(stored<flush>(x) == hs::bits_of(x));
    REQUIRE(std::isnan(hs::real_of(stored<flush>(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("fp32_state<keep> keeps every bit") {
    for (std::uint32_t bits :
         {0u, 0x80000000u, 1u, 0x007FFFFFu, 0x807FFFFFu, 0x00800000u, 0x3F800000u, 0x7F800000u, 0x7FC00001u})
        REQUIRE(stored<keep>(hs::real_of(bits)) == bits);
}

TEST_CASE("a moment is loaded as it was stored, and a new one is zero") {
    for (float x : {0.0f, 0x1p-149f, -2.5f}) {
        REQUIRE(hs::bits_of(flush{}.load(x)) == hs::bits_of(x));
        REQUIRE(hs::bits_of(keep{}.load(x)) == hs::bits_of(x));
    }
    for (float m : moments_after<flush>({}, 5)) REQUIRE(hs::bits_of(m) == 0);
}

TEST_CASE("a decaying momentum ends at zero when flushed and in the subnormals when kept, on every lane") {
    const std::vector<float> gradients{smallest_normal, 0.0f};  // the second step halves the moment
    for (std::size_t count : {1u, 16u, 37u}) {
        for (float m : moments_after<flush>({smallest_normal}, count)) REQUIRE(m == smallest_normal);
        for (float m : moments_after<flush>(gradients, count)) REQUIRE(hs::bits_of(m) == 0);
        for (float m : moments_after<keep>(gradients, count)) REQUIRE(m == smallest_normal / 2);
    }
}
