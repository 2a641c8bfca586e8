// SPDX-License-Identifier: Apache-2.0
// norm_check in real steps, for each gradient type.
#include "detection/positions.hpp"

namespace hs = halfstep;
using hs::norm_check;
using namespace positions;

TEST_CASE("norm_check finds NaN and infinity in fp32 gradients, wherever they stand") {
    check_detection<float, norm_check>();
}
TEST_CASE("norm_check finds NaN and infinity in fp16 gradients, wherever they stand") {
    check_detection<hs::fp16, norm_check>();
}
TEST_CASE("norm_check finds NaN and infinity in bf16 gradients, wherever they stand") {
    check_detection<hs::bf16, norm_check>();
}
TEST_CASE("norm_check finds NaN and infinity in fp8_e5m2 gradients, wherever they stand") {
    check_detection<hs::fp8_e5m2, norm_check>();
}
TEST_CASE("norm_check finds NaN in fp8_e4m3 gradients, wherever it stands") {
    check_detection<hs::fp8_e4m3, norm_check>();
}

TEST_CASE("norm_check lets every extreme of fp16 and fp8 pass: their squares fit") {
    check_extremes_pass<hs::fp16, norm_check>();
    check_extremes_pass<hs::fp8_e4m3, norm_check>();
    check_extremes_pass<hs::fp8_e5m2, norm_check>();
}

TEST_CASE("norm_check skips finite gradients whose squares overflow, where nonfinite_check does not") {
    one_tensor<float, norm_check> run(5);
    REQUIRE(run.skips(3, 1e20f));
    REQUIRE(run.skips(3, -std::numeric_limits<float>::max()));
    REQUIRE(!run.skips(3, 1e19f));  // its square is 1e38
    one_tensor<float, norm_check> four(64);
    std::fill(four.gradients.begin(), four.gradients.begin() + 4, 1e19f);  // but not four times that
    REQUIRE(!four.applies());

    one_tensor<hs::bf16, norm_check> brain(5);
    REQUIRE(brain.skips(0, hs::bf16(1e20f)));
    one_tensor<float, hs::nonfinite_check> other(5);
    REQUIRE(!other.skips(3, 1e20f));
}

TEST_CASE("norm_check makes the norm known, of all groups or not at all") {
    hs::optimizer_step opt{recipe<float, norm_check>{}};
    std::vector<float> parameters(4), gradients{3, 4, 0, 12};
    opt.bind(parameters, gradients);
    REQUIRE(opt.step(0.5f).gradient_norm == 13);
    gradients[2] = std::numeric_limits<float>::infinity();
    REQUIRE(std::isinf(opt.step(0.5f).gradient_norm));

    struct first;
    struct second;
    using mixed = hs::recipe<hs::group<first, float>{}, hs::group<second, float>{}, hs::sgd<>{},
                             hs::on<first, norm_check{}>{}, hs::on<second, hs::nonfinite_check{}>{}>;
    hs::optimizer_step half_known{mixed{}};
    std::vector<float> others(4), their_gradients(4, 1.0f);
    half_known.bind<first>(parameters, their_gradients);
    half_known.bind<second>(others, their_gradients);
    REQUIRE(std::isnan(half_known.step(0.5f).gradient_norm));
}
