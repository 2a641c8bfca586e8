// SPDX-License-Identifier: Apache-2.0
/// Puts one bad value at every place of tensors of many sizes and looks whether the step finds it.
#pragma once

#include <algorithm>
#include <catch.hpp>
#include <cmath>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <type_traits>
#include <vector>

namespace positions {

namespace hs = halfstep;

struct weights;
template <class Gradient, class Detection>
using recipe =
    hs::recipe<hs::group<weights, float, Gradient>{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 1}, Detection{}>;

/// The non-finite values that `T` has: NaN of both signs, and infinities except in fp8_e4m3.
template <class T>
std::vector<T> bad_values() {
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    std::vector<T> bad{T(nan), T(-nan)};
    if (hs::dtype_traits<T>::has_infinity) {
        bad.push_back(T(infinity));
        bad.push_back(T(-infinity));
    }
    return bad;
}

/// The finite values that look most like non-finite ones: the largest of both signs, the smallest, and zeros.
template <class T>
std::vector<T> good_values() {
    if constexpr (std::is_same_v<T, float>) {
        return {
            std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(), 0x1p-149f, -0x1p-126f, 0.0f, -0.0f};
    } else {
        using bits = typename T::bits_type;
        constexpr auto largest = static_cast<bits>(hs::dtype_traits<T>::largest_bits);
        constexpr auto sign = static_cast<bits>(1u << (8 * sizeof(T) - 1));
        return {T::from_bits(largest), T::from_bits(largest | sign),
                T::from_bits(1),       T::from_bits(1 | sign),
                T::from_bits(0),       T::from_bits(sign)};
    }
}

/// Parameters of 1 and gradients of 1; with learning rate 1/2 an applied step halves the parameters.
template <class Gradient, class Detection>
class one_tensor {
  public:
    explicit one_tensor(std::size_t size, hs::host_backend backend = {.threads = 1})
        : step_(recipe<Gradient, Detection>{}, backend), parameters(size, 1.0f), gradients(size, Gradient(1.0f)) {
        step_.bind(parameters, gradients);
    }
    /// With `value` in place of one gradient: is the step skipped?
    bool skips(std::size_t place, Gradient value) {
        const Gradient before = gradients[place];
        gradients[place] = value;
        const bool skipped = !step_.step(0.5f).applied;
        gradients[place] = before;
        return skipped;
    }
    bool applies() { return step_.step(0.5f).applied; }
    bool parameters_are(float x) const {
        return std::all_of(parameters.begin(), parameters.end(), [x](float p) { return p == x; });
    }

  private:
    hs::optimizer_step<typename recipe<Gradient, Detection>::composition> step_;

  public:
    std::vector<float> parameters;
    std::vector<Gradient> gradients;
};

/// All sizes that end in a different lane, and those around a segment of 4096.
inline std::vector<std::size_t> sizes() {
    std::vector<std::size_t> result;
    for (std::size_t n = 1; n <= 130; ++n) result.push_back(n);
    for (std::size_t n : {4095u, 4096u, 4097u}) result.push_back(n);
    return result;
}

/// A bad value at any place skips the step and leaves the parameters; without it the step is
/// applied.
template <class Gradient, class Detection>
void check_every_position() {
    for (std::size_t size : sizes()) {
        one_tensor<Gradient, Detection> run(size);
        // Every place of a small tensor; of a large one both ends and every 13th, which visits all lanes.
        for (std::size_t place = 0; place < size; place += (size <= 130 || place < 80 || place + 80 > size) ? 1 : 13)
            for (Gradient bad : bad_values<Gradient>())
                if (!run.skips(place, bad)) FAIL("not found at " << place << " of " << size);
        // Nor is a tensor overlooked that is bad all over, however flags are counted.
        for (Gradient bad : bad_values<Gradient>()) {
            std::fill(run.gradients.begin(), run.gradients.end(), bad);
            if (run.applies()) FAIL("a tensor of " << size << " that is bad all over was applied");
        }
        std::fill(run.gradients.begin(), run.gradients.end(), Gradient(1.0f));
        if (!run.parameters_are(1.0f)) FAIL("a skipped step wrote a parameter of " << size);
        if (!run.applies() || !run.parameters_are(0.5f)) FAIL("a clean step of " << size << " was not applied");
    }
    // Where three threads share the segments.
    one_tensor<Gradient, Detection> run(3 * 4096 + 5, {.threads = 3, .elements_per_thread = 1});
    for (std::size_t place = 0; place < run.gradients.size(); place += 97)
        if (!run.skips(place, bad_values<Gradient>().back())) FAIL("not found at " << place);
    for (std::size_t place : {std::size_t{4095}, std::size_t{4096}, std::size_t{8192}, run.gradients.size() - 1})
        REQUIRE(run.skips(place, bad_values<Gradient>().front()));
}

/// A tensor full of extremes is applied.
template <class Gradient, class Detection>
void check_extremes_pass() {
    for (Gradient good : good_values<Gradient>())
        for (std::size_t size : {1u, 67u, 4097u}) {
            one_tensor<Gradient, Detection> run(size);
            std::fill(run.gradients.begin(), run.gradients.end(), good);
            CAPTURE(hs::widen(good), size);
            REQUIRE(run.applies());
        }
}

/// Any tensor of several, first to last element, empty tensors and one without gradient among them.
template <class Gradient, class Detection>
void check_every_tensor() {
    const std::size_t tensor_sizes[] = {130, 0, 1, 4097, 64, 3, 0};
    std::vector<std::vector<float>> parameters;
    std::vector<std::vector<Gradient>> gradients;
    std::vector<hs::tensor_view<Gradient const>> views;
    for (std::size_t size : tensor_sizes) {
        parameters.emplace_back(size, 1.0f);
        gradients.emplace_back(size, Gradient(1.0f));
    }
    parameters.emplace_back(5, 1.0f);
    for (auto const& gradient : gradients) views.push_back(hs::tensor_view(gradient));
    views.emplace_back();
    hs::optimizer_step opt{recipe<Gradient, Detection>{}};
    opt.bind(parameters, views);
    const auto before = parameters;
    for (auto& gradient : gradients) {
        if (gradient.empty()) continue;
        for (std::size_t place : {std::size_t{0}, gradient.size() / 2, gradient.size() - 1})
            for (Gradient bad : bad_values<Gradient>()) {
                gradient[place] = bad;
                if (opt.step(0.5f).applied) FAIL("not found in the tensor of " << gradient.size());
                gradient[place] = Gradient(1.0f);
            }
    }
    REQUIRE(parameters == before);
    REQUIRE(opt.step(0.5f).applied);
}

template <class Gradient, class Detection>
void check_detection() {
    check_every_position<Gradient, Detection>();
    check_every_tensor<Gradient, Detection>();
}

}  // namespace positions
