// SPDX-License-Identifier: Apache-2.0
/// DeepSpeedCPUAdam (DeepSpeed 0.19.8, AVX-512) in its own order of operations, as an update rule of halfstep. It gives
/// its bits.
///
/// The stock rules differ in: bias corrections in double, where DeepSpeed multiplies and subtracts in fp32; the
/// moments' decay, which DeepSpeed rounds before it adds; the decayed parameter, which DeepSpeed computes as p + p (-lr
/// wd).
#pragma once

#include <cmath>
#include <halfstep/halfstep.hpp>

namespace oracle {

template <bool Decoupled>
struct deepspeed_adam {
    using slot = halfstep::update_rule_slot;
    static constexpr int moments = 2;
    float beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f, weight_decay = 0;

    struct coefficients {
        float beta1, one_minus_beta1, beta2, one_minus_beta2, second_correction, eps, decay, minus_step_size;
    };
    coefficients prepare(halfstep::rule_input const& in) const {
        float power1 = 1, power2 = 1;
        for (std::int64_t t = 0; t < in.step; ++t) {
            power1 *= beta1;
            power2 *= beta2;
        }
        return {beta1,
                1 - beta1,
                beta2,
                1 - beta2,
                1 / std::sqrt(1 - power2),
                eps,
                Decoupled ? -in.lr * weight_decay : weight_decay,
                -in.lr / (1 - power1)};
    }
    template <class Real>
    constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                          halfstep::values<Real, 2>& moment) const {
        using halfstep::fma, halfstep::sqrt;
        if constexpr (!Decoupled) gradient = fma(parameter, Real(c.decay), gradient);
        moment[0] = moment[0] * Real(c.beta1);
        moment[0] = fma(gradient, Real(c.one_minus_beta1), moment[0]);
        moment[1] = moment[1] * Real(c.beta2);
        moment[1] = fma(gradient * gradient, Real(c.one_minus_beta2), moment[1]);
        const Real ratio = moment[0] / fma(sqrt(moment[1]), Real(c.second_correction), Real(c.eps));
        if constexpr (Decoupled) parameter = fma(parameter, Real(c.decay), parameter);
        parameter = fma(ratio, Real(c.minus_step_size), parameter);
    }
};

}  // namespace oracle
