// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <halfstep/concepts/update_rule.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Lion (Chen et al., 2023) with decoupled weight decay, as lion-pytorch 0.2.5. sign(0) is 0, so an untouched row stays
/// put.
///
///     c <- b1 m + (1 - b1) g;  p <- p (1 - lr wd) - lr sign(c);  m <- b2 m + (1 - b2) g
struct lion {
    using slot = update_rule_slot;
    static constexpr int moments = 1;
    float beta1 = 0.9f;      ///< in [0, 1)
    float beta2 = 0.99f;     ///< in [0, 1)
    float weight_decay = 0;  ///< finite, >= 0

    struct coefficients {
        float beta1, one_minus_beta1, beta2, one_minus_beta2, decay, lr;
    };

    HS_FUNCTION constexpr coefficients prepare(rule_input const& in) const {
        const double decay = static_cast<double>(weight_decay) * static_cast<double>(in.weight_decay_factor);
        return {beta1,
                static_cast<float>(1 - static_cast<double>(beta1)),
                beta2,
                static_cast<float>(1 - static_cast<double>(beta2)),
                static_cast<float>(1 - multiply(static_cast<double>(in.lr), decay)),
                in.lr};
    }
    template <class Real>
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                                      values<Real, 1>& moment) const {
        const Real direction = fma(Real(c.beta1), moment[0], Real(c.one_minus_beta1) * gradient);
        const Real zero(0.0f);
        const Real step = select(direction > zero, Real(-c.lr), select(direction < zero, Real(c.lr), direction));
        parameter = fma(parameter, Real(c.decay), step);
        moment[0] = fma(Real(c.beta2), moment[0], Real(c.one_minus_beta2) * gradient);
    }
    constexpr void validate() const {
        if (!(beta1 >= 0 && beta1 < 1)) throw std::invalid_argument("halfstep: lion.beta1 must lie in [0, 1)");
        if (!(beta2 >= 0 && beta2 < 1)) throw std::invalid_argument("halfstep: lion.beta2 must lie in [0, 1)");
        if (!(weight_decay >= 0) || is_nonfinite(weight_decay))
            throw std::invalid_argument("halfstep: lion.weight_decay must be finite and not negative");
    }
};
static_assert(elementwise_rule<lion>);

}  // namespace halfstep
