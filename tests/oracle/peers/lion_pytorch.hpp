// SPDX-License-Identifier: Apache-2.0
/// Lion of lion-pytorch 0.2.5 in its own order of operations, as an update rule of halfstep. It gives its bits.
///
/// The stock rule differs in: the moment's decay, which lion-pytorch rounds before it adds; the decayed parameter,
/// rounded too.
#pragma once

#include <halfstep/halfstep.hpp>

namespace oracle {

struct lion_pytorch {
    using slot = halfstep::update_rule_slot;
    static constexpr int moments = 1;
    float beta1 = 0.9f, beta2 = 0.99f, weight_decay = 0;

    struct coefficients {
        float beta1, one_minus_beta1, beta2, one_minus_beta2, decay, lr;
    };
    coefficients prepare(halfstep::rule_input const& in) const {
        return {beta1,
                static_cast<float>(1 - static_cast<double>(beta1)),
                beta2,
                static_cast<float>(1 - static_cast<double>(beta2)),
                static_cast<float>(1 - static_cast<double>(in.lr) * static_cast<double>(weight_decay)),
                in.lr};
    }
    template <class Real>
    constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                          halfstep::values<Real, 1>& moment) const {
        using halfstep::fma, halfstep::select;
        const Real zero(0.0f);
        const Real decayed = moment[0] * Real(c.beta1);
        const Real direction = fma(gradient, Real(c.one_minus_beta1), decayed);
        const Real sign = select(direction > zero, Real(1.0f), select(direction < zero, Real(-1.0f), zero));
        parameter = parameter * Real(c.decay);
        parameter = fma(sign, Real(-c.lr), parameter);
        moment[0] = moment[0] * Real(c.beta2);
        moment[0] = fma(gradient, Real(c.one_minus_beta2), moment[0]);
    }
};

}  // namespace oracle
