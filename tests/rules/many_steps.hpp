// SPDX-License-Identifier: Apache-2.0
/// Two hundred real steps of a rule against its formula in double: two groups with different factors, a tensor that
/// gets its first gradient late and misses one later, an overflow, a learning rate that changes, gradients from 1e-9 to
/// 1e3 and exact zeros.
#pragma once

#include <array>
#include <catch.hpp>
#include <cmath>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <random>
#include <rules/formulas.hpp>
#include <vector>

namespace many_steps {

struct plain;
struct scaled;
/// In units of fp32's roundoff. Every step rounds a parameter once: over 200 steps a random walk of about 15 units, at
/// worst 200; moments and coefficients add little. Measured: 2 to 16, lion 44 (its steps are all of one size, so the
/// roundings repeat). A term that is left out or in the wrong place costs hundreds and more.
inline constexpr double allowed = 64;
inline constexpr float scaled_lr = 0.3f, scaled_decay = 2.5f;

/// One tensor beside its reference.
struct tensor {
    std::vector<float> parameter, gradient;
    std::vector<formulas::element> reference;
    std::vector<double> travelled;  // the sum of all moves, for the error bound
    int updates = 0;

    tensor(std::size_t size, std::mt19937& random) : parameter(size), gradient(size), reference(size), travelled(size) {
        std::normal_distribution<float> normal;
        for (std::size_t i = 0; i < size; ++i) {
            parameter[i] = normal(random);
            reference[i].parameter = static_cast<double>(parameter[i]);
            travelled[i] = std::abs(reference[i].parameter);
        }
    }
    /// Each element keeps to a magnitude of its own, so that eps matters for some.
    void draw(std::mt19937& random) {
        std::normal_distribution<double> normal;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const double magnitude =
                std::pow(10.0, -9 + 12 * static_cast<double>(i) / static_cast<double>(gradient.size()));
            gradient[i] = random() % 8 == 0 ? 0.0f : static_cast<float>(magnitude * normal(random));
        }
    }
    template <class Rule>
    void advance(Rule const& rule, double lr, double decay_factor) {
        ++updates;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const double before = reference[i].parameter;
            formulas::advance(rule, reference[i], static_cast<double>(gradient[i]), lr, decay_factor, updates);
            travelled[i] += std::abs(reference[i].parameter - before) + lr;
        }
    }
    /// Largest error, in units of fp32's roundoff of the way travelled.
    double error() const {
        double worst = 0;
        for (std::size_t i = 0; i < parameter.size(); ++i)
            worst =
                std::max(worst, std::abs(static_cast<double>(parameter[i]) - reference[i].parameter) / travelled[i]);
        return worst / 0x1p-24;
    }
};

/// The largest error of 200 steps in units of roundoff; see tensor::error.
template <class Rule>
double worst_error(Rule const& rule, float first_lr) {
    namespace hs = halfstep;
    std::mt19937 random(3);
    tensor a(61, random), late(37, random), b(50, random);
    hs::optimizer_step step{
        hs::recipe<hs::group<plain, float>{},
                   hs::group<scaled, float>{.lr_factor = scaled_lr, .weight_decay_factor = scaled_decay}, Rule{}>{},
        rule};
    using parameters = std::array<hs::tensor_view<float>, 2>;
    using gradients = std::array<hs::tensor_view<float const>, 2>;
    step.template bind<plain>(parameters{hs::tensor_view<float>(a.parameter), hs::tensor_view<float>(late.parameter)},
                              gradients{hs::tensor_view<float const>(std::as_const(a.gradient)),
                                        hs::tensor_view<float const>(nullptr, {37})});
    step.template bind<scaled>(b.parameter, b.gradient);
    for (int t = 1; t <= 200; ++t) {
        const float lr = first_lr / (1 + 0.1f * static_cast<float>(t % 7));
        const bool late_takes_part = t > 4 && t != 9;
        for (auto* x : {&a, &late, &b}) x->draw(random);
        const bool overflow = t == 12;
        if (overflow) b.gradient[7] = std::numeric_limits<float>::infinity();
        step.template bind_gradients<plain>(
            gradients{hs::tensor_view<float const>(std::as_const(a.gradient)),
                      hs::tensor_view<float const>(late_takes_part ? late.gradient.data() : nullptr, {37})});
        REQUIRE(step.step(lr).applied == !overflow);
        if (overflow) continue;
        a.advance(rule, static_cast<double>(lr), 1);
        if (late_takes_part) late.advance(rule, static_cast<double>(lr), 1);
        b.advance(rule, static_cast<double>(lr) * static_cast<double>(scaled_lr), static_cast<double>(scaled_decay));
    }
    return std::max({a.error(), late.error(), b.error()});
}

}  // namespace many_steps
