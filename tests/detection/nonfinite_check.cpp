// SPDX-License-Identifier: Apache-2.0
// nonfinite_check in real steps, for each gradient type.
#include "detection/positions.hpp"

namespace hs = halfstep;
using hs::nonfinite_check;
using namespace positions;

TEST_CASE("nonfinite_check finds NaN and infinity in fp32 gradients, wherever they stand") {
    check_detection<float, nonfinite_check>();
}
TEST_CASE("nonfinite_check finds NaN and infinity in fp16 gradients, wherever they stand") {
    check_detection<hs::fp16, nonfinite_check>();
}
TEST_CASE("nonfinite_check finds NaN and infinity in bf16 gradients, wherever they stand") {
    check_detection<hs::bf16, nonfinite_check>();
}
TEST_CASE("nonfinite_check finds NaN and infinity in fp8_e5m2 gradients, wherever they stand") {
    check_detection<hs::fp8_e5m2, nonfinite_check>();
}
TEST_CASE("nonfinite_check finds NaN in fp8_e4m3 gradients, wherever it stands") {
    check_detection<hs::fp8_e4m3, nonfinite_check>();
}

TEST_CASE("nonfinite_check lets every finite extreme pass: 65504, 57344, 448, FLT_MAX") {
    check_extremes_pass<float, nonfinite_check>();
    check_extremes_pass<hs::fp16, nonfinite_check>();
    check_extremes_pass<hs::bf16, nonfinite_check>();
    check_extremes_pass<hs::fp8_e4m3, nonfinite_check>();
    check_extremes_pass<hs::fp8_e5m2, nonfinite_check>();
}
