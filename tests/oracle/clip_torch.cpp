// SPDX-License-Identifier: Apache-2.0
// torch.nn.utils.clip_grad_norm_: norms and clipped gradients, and the right outcome where torch erases or reverses
// them.
#include <algorithm>
#include <catch.hpp>
#include <cmath>
#include <stdexcept>

#include "replay.hpp"

using namespace oracle;
using namespace halfstep;

namespace {

/// What one step under SGD with a learning rate of 1 makes of parameters that are 0: the clipped gradients, their sign
/// reversed.
template <class T>
struct clipped {
    step_record record;
    std::vector<std::vector<T>> gradients;
};
template <class T>
clipped<T> clip(trace_case const& c) {
    using recipe = halfstep::recipe<dtype<T>{}, sgd<>{}, no_scaling{}, accept_underflow{}, clip_by_norm{}>;
    auto gradients = vectors<T>(c.steps.at(0), "gradient");
    auto parameters = gradients;
    for (auto& p : parameters) std::fill(p.begin(), p.end(), T(0.0f));
    optimizer_step step{recipe{}, clip_by_norm{.max_norm = c.real("max_norm")}};
    step.bind(views(parameters), views(gradients));
    clipped<T> result{step.step(1.0f), parameters};
    for (auto& tensor : result.gradients)
        for (T& x : tensor) x = T(-widen(x));
    return result;
}

/// The distance from one value of `T` to the next in the binade of `x`.
template <class T>
double ulp_in(double x) {
    int exponent = 0;
    std::frexp(x, &exponent);
    const int lowest = 2 - dtype_traits<T>::bias;
    return std::ldexp(1.0, std::max(exponent, lowest) - 1 - dtype_traits<T>::mantissa_bits);
}

struct clip_distance {
    double norm, gradient;              ///< from torch
    double exact_norm, exact_gradient;  ///< ours from the result in double
};
template <class T>
clip_distance compare(trace_case const& c) {
    const double norm = c.number("norm");
    REQUIRE(norm == c.number("foreach_norm"));
    const auto gradients = vectors<T>(c.steps.at(0), "gradient");
    const auto ours = clip<T>(c);
    REQUIRE(ours.record.applied);
    double squares = 0;
    for (auto const& tensor : gradients)
        for (T g : tensor) squares += static_cast<double>(widen(g)) * static_cast<double>(widen(g));
    const double exact = std::sqrt(squares);
    const double factor = std::min(1.0, static_cast<double>(c.real("max_norm")) / (exact + 1e-6));

    clip_distance d{std::fabs(ours.record.gradient_norm - norm) / ulp_in<T>(norm), 0,
                    std::fabs(ours.record.gradient_norm - exact) / ulp_in<float>(exact), 0};
    REQUIRE(ours.gradients.size() == gradients.size());
    const bool recorded = c.steps.at(0).has_tensors("clipped");
    const auto theirs = recorded ? vectors<T>(c.steps.at(0), "clipped") : ours.gradients;
    if (recorded) REQUIRE(c.steps.at(0).number("foreach_clips_alike") == 1);
    for (std::size_t i = 0; i < gradients.size(); ++i)
        for (std::size_t j = 0; j < gradients[i].size(); ++j) {
            const double right = factor * static_cast<double>(widen(gradients[i][j]));
            const double x = widen(theirs.at(i).at(j)), y = widen(ours.gradients[i].at(j));
            d.gradient = std::max(d.gradient, std::fabs(x - y) / ulp_in<T>(x));
            d.exact_gradient = std::max(d.exact_gradient, std::fabs(y - right) / ulp_in<T>(right));
        }
    return d;
}
clip_distance compare_case(trace_case const& c) {
    if (c.name.rfind("fp16", 0) == 0) return compare<fp16>(c);
    if (c.name.rfind("bf16", 0) == 0) return compare<bf16>(c);
    return compare<float>(c);
}

// In last bits of the gradients' dtype. torch adds squares in fp32, then takes the norm of the tensors' rounded norms:
// up to 1.2 bits in fp32. Its norm and its factor are numbers of the gradients' dtype: with fp16 gradients of norm 888
// and a limit of 0.01 the factor is 1.1e-5, of which fp16 has 8 bits, and clipped gradients are up to 6 bits off. Ours
// are exact to their own rounding: see below.
struct clip_bound {
    char const* name;
    double norm, gradient;
};
constexpr clip_bound bounds[] = {
    {"pythagorean", 0, 0},
    {"fp32_clipped", 1.14, 3},
    {"fp32_clipped_hard", 0.54, 0},
    {"fp32_not_clipped", 1.14, 0},
    {"fp32_zero", 0, 0},
    {"fp32_wild", 0.43, 0},
    {"fp32_large", 0.21, 0},
    {"fp16_clipped", 0.23, 1},
    {"fp16_clipped_hard", 0.05, 6},
    {"fp16_not_clipped", 0.23, 0},
    {"fp16_zero", 0, 0},
    {"fp16_large", 0.11, 0},
    {"bf16_clipped", 0.42, 1},
    {"bf16_clipped_hard", 0.42, 1},
    {"bf16_not_clipped", 0.42, 0},
    {"bf16_zero", 0, 0},
};

}  // namespace

TEST_CASE("clip_by_norm keeps within last bits of clip_grad_norm_, and of the exact result", "[oracle][clipping]") {
    for (auto const& b : bounds) {
        auto const& c = find_case("clip_grad_norm", b.name);
        const clip_distance d = compare_case(c);
        INFO(c.name << ": norm " << d.norm << ", gradient " << d.gradient << "; from the exact result " << d.exact_norm
                    << " and " << d.exact_gradient);
        CHECK(d.norm <= b.norm);
        CHECK(d.gradient <= b.gradient);
        // The norm: squares of one segment in fp32, all else in double. A gradient: the factor rounded to fp32, the
        // product, and where it is narrower its own rounding.
        CHECK(d.exact_norm <= 0.6);
        CHECK(d.exact_gradient <= (c.name.rfind("fp32", 0) == 0 || c.name == "pythagorean" ? 1.1 : 0.51));
    }
}

TEST_CASE("fp16 gradients of norm 76837, whose norm is inf to torch and which it makes 0, are clipped",
          "[oracle][clipping]") {
    auto const& c = find_case("clip_grad_norm", "fault_fp16_norm");
    REQUIRE(std::isinf(c.number("norm")));
    REQUIRE(vectors<fp16>(c.steps.at(0), "clipped") == std::vector<std::vector<fp16>>{{fp16(0.0f), fp16(0.0f)}});
    const auto ours = clip<fp16>(c);
    CHECK(ours.record.applied);
    CHECK(ours.record.gradient_norm == Approx(std::hypot(60000.0 - 32, 48000.0)).epsilon(1e-3));
    const double x = widen(ours.gradients.at(0).at(0)), y = widen(ours.gradients.at(0).at(1));
    CHECK(std::hypot(x, y) == Approx(1).epsilon(1e-3));
}

TEST_CASE("gradients whose norm is not finite, which torch makes 0 or NaN, skip the step", "[oracle][clipping]") {
    for (char const* name : {"fault_fp32_norm", "fault_inf", "fault_nan"}) {
        auto const& c = find_case("clip_grad_norm", name);
        REQUIRE_FALSE(std::isfinite(c.number("norm")));
        for (auto const& tensor : vectors<float>(c.steps.at(0), "clipped"))
            for (float g : tensor) REQUIRE((g == 0 || std::isnan(g)));
        const auto ours = clip<float>(c);
        CAPTURE(name);
        CHECK_FALSE(ours.record.applied);
        for (auto const& tensor : ours.gradients)
            for (float g : tensor) CHECK(g == 0);  // the parameters as they were
    }
}

TEST_CASE("a negative limit, with which torch reverses every gradient, is refused", "[oracle][clipping]") {
    auto const& c = find_case("clip_grad_norm", "fault_negative_limit");
    REQUIRE(vectors<float>(c.steps.at(0), "clipped").at(0).at(0) < 0);
    REQUIRE(vectors<float>(c.steps.at(0), "gradient").at(0).at(0) > 0);
    CHECK_THROWS_AS(clip<float>(c), std::invalid_argument);
}
