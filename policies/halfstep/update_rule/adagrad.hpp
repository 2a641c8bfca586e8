// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <halfstep/concepts/update_rule.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Adagrad (Duchi, Hazan and Singer, 2011) with weight decay added to the gradient (L2), as torch.optim.Adagrad of
/// PyTorch 2.15.
///
///     g <- g + wd p;  s <- s + g^2
///     p <- p - lr / (1 + (t - 1) lr_decay) * g / (sqrt(s) + eps)
///
/// The sum s starts at 0, as every moment. Another start, torch's `initial_accumulator_value`, is written through
/// `optimizer_step::visit_state`.
struct adagrad {
    using slot = update_rule_slot;
    static constexpr int moments = 1;
    float lr_decay = 0;      ///< finite, >= 0
    float weight_decay = 0;  ///< finite, >= 0
    float eps = 1e-10f;      ///< positive and normal

    struct coefficients {
        float decay, eps, minus_lr;
    };

    HS_FUNCTION constexpr coefficients prepare(rule_input const& in) const {
        const double slowed = 1 + multiply(static_cast<double>(in.step - 1), static_cast<double>(lr_decay));
        return {weight_decay * in.weight_decay_factor, eps, static_cast<float>(-static_cast<double>(in.lr) / slowed)};
    }
    template <class Real>
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                                      values<Real, 1>& moment) const {
        const Real g = fma(Real(c.decay), parameter, gradient);
        moment[0] = fma(g, g, moment[0]);
        parameter = fma(Real(c.minus_lr), g / (sqrt(moment[0]) + Real(c.eps)), parameter);
    }
    constexpr void validate() const {
        if (!(lr_decay >= 0) || is_nonfinite(lr_decay))
            throw std::invalid_argument("halfstep: adagrad.lr_decay must be finite and not negative");
        if (!(weight_decay >= 0) || is_nonfinite(weight_decay))
            throw std::invalid_argument("halfstep: adagrad.weight_decay must be finite and not negative");
        if (!(eps >= 0x1p-126f) || is_nonfinite(eps))
            throw std::invalid_argument("halfstep: adagrad.eps must be finite and at least 2^-126; less vanishes");
    }
};
static_assert(elementwise_rule<adagrad>);

}  // namespace halfstep
