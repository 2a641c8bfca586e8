// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <halfstep/concepts/update_rule.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Adam (Kingma and Ba, 2015) with weight decay added to the gradient (L2), as torch.optim.Adam of PyTorch 2.15.
///
///     g <- g + wd p;  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2
///     p <- p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
///
/// DeepSpeed's "Adam" is adamw unless `adam_w_mode` is off.
struct adam {
    using slot = update_rule_slot;
    static constexpr int moments = 2;
    float beta1 = 0.9f;      ///< in [0, 1)
    float beta2 = 0.999f;    ///< in [0, 1)
    float eps = 1e-8f;       ///< positive and normal
    float weight_decay = 0;  ///< finite, >= 0

    struct coefficients {
        float beta1, one_minus_beta1, beta2, one_minus_beta2, eps, decay, minus_step_size, second_correction;
    };

    HS_FUNCTION constexpr coefficients prepare(rule_input const& in) const {
        const double first = 1 - power(static_cast<double>(beta1), in.step);
        const double second = 1 - power(static_cast<double>(beta2), in.step);
        return {beta1,
                static_cast<float>(1 - static_cast<double>(beta1)),
                beta2,
                static_cast<float>(1 - static_cast<double>(beta2)),
                eps,
                weight_decay * in.weight_decay_factor,
                static_cast<float>(-static_cast<double>(in.lr) / first),
                static_cast<float>(1 / halfstep::sqrt(second))};
    }
    template <class Real>
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                                      values<Real, 2>& moment) const {
        const Real g = fma(Real(c.decay), parameter, gradient);
        moment[0] = fma(Real(c.beta1), moment[0], Real(c.one_minus_beta1) * g);
        moment[1] = fma(Real(c.beta2), moment[1], Real(c.one_minus_beta2) * g * g);
        const Real denominator = fma(sqrt(moment[1]), Real(c.second_correction), Real(c.eps));
        parameter = fma(Real(c.minus_step_size), moment[0] / denominator, parameter);
    }
    constexpr void validate() const {
        if (!(beta1 >= 0 && beta1 < 1)) throw std::invalid_argument("halfstep: adam.beta1 must lie in [0, 1)");
        if (!(beta2 >= 0 && beta2 < 1)) throw std::invalid_argument("halfstep: adam.beta2 must lie in [0, 1)");
        if (!(eps >= 0x1p-126f) || is_nonfinite(eps))
            throw std::invalid_argument("halfstep: adam.eps must be finite and at least 2^-126; less vanishes");
        if (!(weight_decay >= 0) || is_nonfinite(weight_decay))
            throw std::invalid_argument("halfstep: adam.weight_decay must be finite and not negative");
    }
};
static_assert(elementwise_rule<adam>);

}  // namespace halfstep
