// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <halfstep/concepts/update_rule.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Which momentum an sgd keeps. It decides whether there is a moment at all, so it is part of the type.
enum class momentum_kind { none, classical, nesterov };
inline constexpr momentum_kind classical_momentum = momentum_kind::classical;
inline constexpr momentum_kind nesterov = momentum_kind::nesterov;

/// Stochastic gradient descent with L2 weight decay, as torch.optim.SGD of PyTorch 2.15; `sgd<>` keeps no state.
///
///     g <- g + wd p;  buf <- mu buf + (1 - dampening) g, but buf <- g on the first step
///     p <- p - lr buf, or with Nesterov p <- p - lr (g + mu buf)
template <momentum_kind Momentum = momentum_kind::none>
struct sgd {
    using slot = update_rule_slot;
    static constexpr int moments = 1;
    float momentum = 0.9f;   ///< in (0, 1)
    float dampening = 0;     ///< in [0, 1); 0 with Nesterov
    float weight_decay = 0;  ///< finite, >= 0

    struct coefficients {
        float decay, momentum, undamped, look_ahead, minus_lr;
    };

    HS_FUNCTION constexpr coefficients prepare(rule_input const& in) const {
        return {weight_decay * in.weight_decay_factor, momentum,
                in.step == 1 ? 1.0f : static_cast<float>(1 - static_cast<double>(dampening)), momentum, -in.lr};
    }
    template <class Real>
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                                      values<Real, 1>& moment) const {
        const Real g = fma(Real(c.decay), parameter, gradient);
        moment[0] = fma(Real(c.momentum), moment[0], Real(c.undamped) * g);
        if constexpr (Momentum == momentum_kind::nesterov)
            parameter = fma(Real(c.minus_lr), fma(Real(c.look_ahead), moment[0], g), parameter);
        else
            parameter = fma(Real(c.minus_lr), moment[0], parameter);
    }
    constexpr void validate() const {
        if (!(momentum > 0 && momentum < 1))
            throw std::invalid_argument("halfstep: sgd.momentum must lie between 0 and 1; for none name sgd<>");
        if (!(dampening >= 0 && dampening < 1))
            throw std::invalid_argument("halfstep: sgd.dampening must lie in [0, 1)");
        if (Momentum == momentum_kind::nesterov && dampening != 0)
            throw std::invalid_argument("halfstep: sgd<nesterov>.dampening must be 0");
        if (!(weight_decay >= 0) || is_nonfinite(weight_decay))
            throw std::invalid_argument("halfstep: sgd.weight_decay must be finite and not negative");
    }
};

template <>
struct sgd<momentum_kind::none> {
    using slot = update_rule_slot;
    static constexpr int moments = 0;
    float weight_decay = 0;  ///< finite, >= 0

    struct coefficients {
        float decay, minus_lr;
    };

    HS_FUNCTION constexpr coefficients prepare(rule_input const& in) const {
        return {weight_decay * in.weight_decay_factor, -in.lr};
    }
    template <class Real>
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient, values<Real, 0>&) const {
        parameter = fma(Real(c.minus_lr), fma(Real(c.decay), parameter, gradient), parameter);
    }
    constexpr void validate() const {
        if (!(weight_decay >= 0) || is_nonfinite(weight_decay))
            throw std::invalid_argument("halfstep: sgd.weight_decay must be finite and not negative");
    }
};
static_assert(elementwise_rule<sgd<>> && elementwise_rule<sgd<classical_momentum>> && elementwise_rule<sgd<nesterov>>);

}  // namespace halfstep
