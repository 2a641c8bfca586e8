// SPDX-License-Identifier: Apache-2.0
/// The update rules as their papers and PyTorch's documentation write them, in double, one element at a time. Slow and
/// obvious; nothing of the library is used but the names of the hyper-parameters.
#pragma once

#include <cmath>
#include <halfstep/update_rule/adagrad.hpp>
#include <halfstep/update_rule/adam.hpp>
#include <halfstep/update_rule/adamw.hpp>
#include <halfstep/update_rule/lion.hpp>
#include <halfstep/update_rule/sgd.hpp>

namespace formulas {

struct element {
    double parameter = 0;
    double first_moment = 0;  // also the momentum buffer, and Adagrad's sum of squares
    double second_moment = 0;
};

/// Decoupled decay first, then Adam's step; `t` counts this element's updates from 1.
inline void advance(halfstep::adamw const& rule, element& x, double g, double lr, double decay_factor, int t) {
    const double beta1 = rule.beta1, beta2 = rule.beta2, eps = rule.eps, decay = rule.weight_decay * decay_factor;
    x.parameter = x.parameter * (1 - lr * decay);
    x.first_moment = beta1 * x.first_moment + (1 - beta1) * g;
    x.second_moment = beta2 * x.second_moment + (1 - beta2) * g * g;
    const double first_unbiased = x.first_moment / (1 - std::pow(beta1, t));
    const double second_unbiased = x.second_moment / (1 - std::pow(beta2, t));
    x.parameter = x.parameter - lr * first_unbiased / (std::sqrt(second_unbiased) + eps);
}

/// The same with the decay in the gradient.
inline void advance(halfstep::adam const& rule, element& x, double g, double lr, double decay_factor, int t) {
    const double beta1 = rule.beta1, beta2 = rule.beta2, eps = rule.eps, decay = rule.weight_decay * decay_factor;
    g = g + decay * x.parameter;
    x.first_moment = beta1 * x.first_moment + (1 - beta1) * g;
    x.second_moment = beta2 * x.second_moment + (1 - beta2) * g * g;
    const double first_unbiased = x.first_moment / (1 - std::pow(beta1, t));
    const double second_unbiased = x.second_moment / (1 - std::pow(beta2, t));
    x.parameter = x.parameter - lr * first_unbiased / (std::sqrt(second_unbiased) + eps);
}

/// The sum of squares takes in this gradient before its root divides it.
inline void advance(halfstep::adagrad const& rule, element& x, double g, double lr, double decay_factor, int t) {
    const double lr_decay = rule.lr_decay, eps = rule.eps, decay = rule.weight_decay * decay_factor;
    g = g + decay * x.parameter;
    x.first_moment = x.first_moment + g * g;
    x.parameter = x.parameter - lr / (1 + (t - 1) * lr_decay) * g / (std::sqrt(x.first_moment) + eps);
}

inline void advance(halfstep::lion const& rule, element& x, double g, double lr, double decay_factor, int) {
    const double beta1 = rule.beta1, beta2 = rule.beta2, decay = rule.weight_decay * decay_factor;
    const double direction = beta1 * x.first_moment + (1 - beta1) * g;
    const double sign = direction > 0 ? 1 : direction < 0 ? -1 : 0;
    x.parameter = x.parameter * (1 - lr * decay) - lr * sign;
    x.first_moment = beta2 * x.first_moment + (1 - beta2) * g;
}

inline void advance(halfstep::sgd<> const& rule, element& x, double g, double lr, double decay_factor, int) {
    g = g + rule.weight_decay * decay_factor * x.parameter;
    x.parameter = x.parameter - lr * g;
}

/// The first gradient of an element fills the buffer undamped.
template <halfstep::momentum_kind Momentum>
void advance(halfstep::sgd<Momentum> const& rule, element& x, double g, double lr, double decay_factor, int t) {
    const double momentum = rule.momentum, dampening = rule.dampening;
    g = g + rule.weight_decay * decay_factor * x.parameter;
    x.first_moment = t == 1 ? g : momentum * x.first_moment + (1 - dampening) * g;
    if (Momentum == halfstep::momentum_kind::nesterov)
        x.parameter = x.parameter - lr * (g + momentum * x.first_moment);
    else
        x.parameter = x.parameter - lr * x.first_moment;
}

}  // namespace formulas
