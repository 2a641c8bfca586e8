// SPDX-License-Identifier: Apache-2.0
// CUDA's own types on the host, where a toolkit's headers are found: their conversions are one more witness, and
// vectors of them are trained in place.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <catch.hpp>
#include <cmath>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <type_traits>
#include <vector>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;
using namespace patterns;

namespace {

template <class Foreign>
std::uint32_t bits(Foreign x) {
    pattern_of<hs::storage_of_t<Foreign>> b;
    static_assert(sizeof b == sizeof x);
    std::memcpy(&b, &x, sizeof b);
    return b;
}

template <class T, class F>
void check_narrow(F&& theirs) {
    const auto check = [&](float x) {
        if (!std::isnan(x) && hs::narrow<T>(x).bits != theirs(x)) {
            CAPTURE(x);
            REQUIRE(hs::narrow<T>(x).bits == theirs(x));
        }
    };
    for (float x : boundary_patterns<T>()) check(x);
    random_words random(3);
    for (int i = 0; i < 100'000; ++i) check(random.any_float());
}

}  // namespace

TEST_CASE("CUDA's types are ours") {
    STATIC_REQUIRE(std::is_same_v<hs::storage_of_t<__half>, hs::fp16>);
    STATIC_REQUIRE(std::is_same_v<hs::storage_of_t<__nv_bfloat16>, hs::bf16>);
    STATIC_REQUIRE(std::is_same_v<hs::storage_of_t<__nv_fp8_e4m3>, hs::fp8_e4m3>);
    STATIC_REQUIRE(std::is_same_v<hs::storage_of_t<__nv_fp8_e5m2>, hs::fp8_e5m2>);
}

TEST_CASE("narrowing has the bits of CUDA's host conversions") {
    check_narrow<hs::fp16>([](float x) { return bits(__float2half_rn(x)); });
    check_narrow<hs::bf16>([](float x) { return bits(__float2bfloat16_rn(x)); });
    check_narrow<hs::fp8_e4m3>(
        [](float x) { return std::uint32_t{__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)}; });
    check_narrow<hs::fp8_e5m2>([](float x) { return std::uint32_t{__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2)}; });
}

TEST_CASE("vectors of __half and __nv_bfloat16 are trained where they lie") {
    std::vector<__half> parameters(37, __float2half(2.0f)), gradients(37, __float2half(0.25f));
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 1}>{}};
    opt.bind(parameters, gradients);
    REQUIRE(opt.step(1.0f).applied);
    for (__half x : parameters) REQUIRE(__half2float(x) == 1.75f);

    std::vector<__nv_bfloat16> others(37, __float2bfloat16(2.0f));
    const std::vector<__nv_bfloat16> their_gradients(37, __float2bfloat16(0.25f));
    hs::optimizer_step other{hs::recipe<hs::bf16{}, hs::sgd<>{}>{}};
    other.bind(others, their_gradients);
    REQUIRE(other.step(1.0f).applied);
    for (__nv_bfloat16 x : others) REQUIRE(__bfloat162float(x) == 1.75f);
}
