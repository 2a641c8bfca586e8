// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <halfstep/concepts/update_rule.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// AdamW (Loshchilov and Hutter, 2019): Adam with decoupled weight decay, applied before the update as PyTorch 2.15
/// does.
///
///     p <- p (1 - lr wd);  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2
///     p <- p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
///
/// All in fp32; the corrections 1 - b^t and their root in double. 1 - lr wd is rounded to fp32 first, as in PyTorch: a
/// decay below 2^-25 a step is rounded away. Defaults are PyTorch's.
struct adamw {
    using slot = update_rule_slot;
    static constexpr int moments = 2;
    float beta1 = 0.9f;          ///< in [0, 1)
    float beta2 = 0.999f;        ///< in [0, 1)
    float eps = 1e-8f;           ///< positive and normal: it guards a zero gradient
    float weight_decay = 0.01f;  ///< finite, >= 0

    struct coefficients {
        float beta1, one_minus_beta1, beta2, one_minus_beta2, eps, decay, minus_step_size, second_correction;
    };

    HS_FUNCTION constexpr coefficients prepare(rule_input const& in) const {
        const double first = 1 - power(static_cast<double>(beta1), in.step);
        const double second = 1 - power(static_cast<double>(beta2), in.step);
        const double lr = in.lr;
        const double decay = static_cast<double>(weight_decay) * static_cast<double>(in.weight_decay_factor);
        return {beta1,
                static_cast<float>(1 - static_cast<double>(beta1)),
                beta2,
                static_cast<float>(1 - static_cast<double>(beta2)),
                eps,
                static_cast<float>(1 - multiply(lr, decay)),
                static_cast<float>(-lr / first),
                static_cast<float>(1 / halfstep::sqrt(second))};
    }
    template <class Real>
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                                      values<Real, 2>& moment) const {
        moment[0] = fma(Real(c.beta1), moment[0], Real(c.one_minus_beta1) * gradient);
        moment[1] = fma(Real(c.beta2), moment[1], Real(c.one_minus_beta2) * gradient * gradient);
        const Real denominator = fma(sqrt(moment[1]), Real(c.second_correction), Real(c.eps));
        parameter = fma(Real(c.minus_step_size), moment[0] / denominator, parameter * Real(c.decay));
    }
    constexpr void validate() const {
        if (!(beta1 >= 0 && beta1 < 1)) throw std::invalid_argument("halfstep: adamw.beta1 must lie in [0, 1)");
        if (!(beta2 >= 0 && beta2 < 1)) throw std::invalid_argument("halfstep: adamw.beta2 must lie in [0, 1)");
        if (!(eps >= 0x1p-126f) || is_nonfinite(eps))
            throw std::invalid_argument("halfstep: adamw.eps must be finite and at least 2^-126; less vanishes");
        if (!(weight_decay >= 0) || is_nonfinite(weight_decay))
            throw std::invalid_argument("halfstep: adamw.weight_decay must be finite and not negative");
    }
};
static_assert(elementwise_rule<adamw>);

}  // namespace halfstep
