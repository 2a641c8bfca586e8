// SPDX-License-Identifier: Apache-2.0
/// torch.optim.Adagrad (PyTorch 2.15, CPU) in torch's own order of operations, as an update rule of halfstep. It gives
/// torch's bits.
///
/// The stock rule differs in one place: torch multiplies the gradient by the rate, divides by the denominator and adds,
/// three roundings; the stock rule divides, and multiplies and adds in one fma. The for-loop and foreach forms take
/// their square roots from MKL, which is off by one last bit for 0.6 % of values; fused is not.
#pragma once

#include <halfstep/halfstep.hpp>

namespace oracle {

struct torch_adagrad {
    using slot = halfstep::update_rule_slot;
    static constexpr int moments = 1;
    float lr_decay = 0, weight_decay = 0, eps = 1e-10f;

    struct coefficients {
        float decay, eps, minus_rate;
    };
    coefficients prepare(halfstep::rule_input const& in) const {
        const double lr = in.lr, decay = lr_decay;
        return {weight_decay, eps, static_cast<float>(-(lr / (1 + static_cast<double>(in.step - 1) * decay)))};
    }
    template <class Real>
    constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                          halfstep::values<Real, 1>& moment) const {
        using halfstep::fma, halfstep::sqrt;
        gradient = fma(parameter, Real(c.decay), gradient);
        moment[0] = fma(gradient, gradient, moment[0]);
        const Real denominator = sqrt(moment[0]) + Real(c.eps);
        parameter = parameter + Real(c.minus_rate) * gradient / denominator;
    }
};

}  // namespace oracle
