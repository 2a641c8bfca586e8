// SPDX-License-Identifier: Apache-2.0
/// torch.optim.AdamW and Adam (PyTorch 2.15, CPU) in torch's own order of operations, as an update rule of halfstep.
///
/// It gives torch's bits, so what separates it from the stock rules is what separates halfstep from torch:
///   - the first moment by lerp: the gradient's distance from it, times a weight, added to the nearer end;
///   - the second moment's decay rounded before the square is added;
///   - the root divided by the root of the correction, not multiplied by its reciprocal, and eps added in a second
///   rounding;
///   - step size times moment, divided by the denominator, added: three roundings where the stock rules have two;
///   - with decoupled decay the decayed parameter rounded (the stock rule does that too).
/// The for-loop and foreach forms take their square roots from MKL, which is off by one last bit for 0.6 % of values;
/// fused is not.
#pragma once

#include <cmath>
#include <halfstep/halfstep.hpp>

namespace oracle {

/// torch.lerp: the end that is nearer is the base.
struct torch_lerp {
    float weight;
    float from_end;

    static torch_lerp of(double weight) {
        const auto w = static_cast<float>(weight);
        return std::fabs(w) < 0.5f ? torch_lerp{w, 0} : torch_lerp{w - 1, 1};
    }
    template <class Real>
    constexpr Real operator()(Real start, Real end) const {
        return fma(Real(weight), end - start, select(Real(from_end) > Real(0.0f), end, start));
    }
};

template <bool Decoupled>
struct torch_adam {
    using slot = halfstep::update_rule_slot;
    static constexpr int moments = 2;
    float beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f, weight_decay = 0;

    struct coefficients {
        torch_lerp first;
        float beta2, one_minus_beta2, root_of_correction, eps, decay, minus_step_size;
    };
    coefficients prepare(halfstep::rule_input const& in) const {
        const double b1 = beta1, b2 = beta2, lr = in.lr, decay = weight_decay;
        const auto t = static_cast<double>(in.step);
        return {torch_lerp::of(1 - b1),
                beta2,
                static_cast<float>(1 - b2),
                static_cast<float>(std::sqrt(1 - std::pow(b2, t))),
                eps,
                Decoupled ? static_cast<float>(1 - lr * decay) : weight_decay,
                static_cast<float>(-(lr / (1 - std::pow(b1, t))))};
    }
    template <class Real>
    constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                          halfstep::values<Real, 2>& moment) const {
        using halfstep::fma, halfstep::sqrt;
        if constexpr (Decoupled)
            parameter = parameter * Real(c.decay);
        else
            gradient = fma(parameter, Real(c.decay), gradient);
        moment[0] = c.first(moment[0], gradient);
        moment[1] = moment[1] * Real(c.beta2);
        moment[1] = fma(Real(c.one_minus_beta2) * gradient, gradient, moment[1]);
        const Real denominator = sqrt(moment[1]) / Real(c.root_of_correction) + Real(c.eps);
        parameter = parameter + Real(c.minus_step_size) * moment[0] / denominator;
    }
};

}  // namespace oracle
