// SPDX-License-Identifier: Apache-2.0
// exponent_check in real steps, for each gradient type.
#include "detection/positions.hpp"

namespace hs = halfstep;
using hs::exponent_check;
using namespace positions;

TEST_CASE("exponent_check finds NaN and infinity in fp32 gradients, wherever they stand") {
    check_detection<float, exponent_check>();
}
TEST_CASE("exponent_check finds NaN and infinity in fp16 gradients, wherever they stand") {
    check_detection<hs::fp16, exponent_check>();
}
TEST_CASE("exponent_check finds NaN and infinity in bf16 gradients, wherever they stand") {
    check_detection<hs::bf16, exponent_check>();
}
TEST_CASE("exponent_check finds NaN and infinity in fp8_e5m2 gradients, wherever they stand") {
    check_detection<hs::fp8_e5m2, exponent_check>();
}

TEST_CASE("exponent_check lets every finite extreme pass: 65504, 57344, FLT_MAX") {
    check_extremes_pass<float, exponent_check>();
    check_extremes_pass<hs::fp16, exponent_check>();
    check_extremes_pass<hs::bf16, exponent_check>();
    check_extremes_pass<hs::fp8_e5m2, exponent_check>();
}
