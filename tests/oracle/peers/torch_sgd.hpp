// SPDX-License-Identifier: Apache-2.0
/// torch.optim.SGD (PyTorch 2.15, CPU) in torch's own order of operations, as an update rule of halfstep. It gives
/// torch's bits.
///
/// The stock rule differs in one rounding: torch rounds momentum times buffer before it adds the gradient.
#pragma once

#include <halfstep/halfstep.hpp>

namespace oracle {

template <bool Nesterov>
struct torch_sgd {
    using slot = halfstep::update_rule_slot;
    static constexpr int moments = 1;
    float momentum = 0.9f, dampening = 0, weight_decay = 0;

    struct coefficients {
        float momentum, undamped, decay, minus_lr, first;
    };
    coefficients prepare(halfstep::rule_input const& in) const {
        return {momentum, static_cast<float>(1 - static_cast<double>(dampening)), weight_decay, -in.lr,
                in.step == 1 ? 1.0f : 0.0f};
    }
    template <class Real>
    constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                          halfstep::values<Real, 1>& moment) const {
        using halfstep::fma, halfstep::select;
        gradient = fma(parameter, Real(c.decay), gradient);
        const Real decayed = moment[0] * Real(c.momentum);
        moment[0] = select(Real(c.first) > Real(0.0f), gradient, fma(gradient, Real(c.undamped), decayed));
        const Real direction = Nesterov ? fma(moment[0], Real(c.momentum), gradient) : moment[0];
        parameter = fma(direction, Real(c.minus_lr), parameter);
    }
};

}  // namespace oracle
