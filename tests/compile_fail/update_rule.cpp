// SPDX-License-Identifier: Apache-2.0
// An update rule written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this update rule lacks 'static constexpr int moments', 0 or more
// case 2: halfstep: this update rule lacks 'static constexpr int moments', 0 or more
// case 3: halfstep: this update rule lacks a trivially copyable type 'coefficients'; it is kept in device memory
// case 4: halfstep: this update rule lacks a trivially copyable type 'coefficients'; it is kept in device memory
// case 5: halfstep: this update rule lacks a trivially copyable type 'coefficients'; it is kept in device memory
// case 6: halfstep: this update rule lacks 'coefficients prepare(rule_input const&) const'
// case 7: halfstep: this update rule lacks 'coefficients prepare(rule_input const&) const'
// case 8: halfstep: this update rule lacks 'coefficients prepare(rule_input const&) const'
// case 9: halfstep: this update rule lacks 'void update(coefficients const&, Real& parameter, Real gradient, values<Real, moments>&) const'
// case 10: halfstep: this update rule lacks 'void update(coefficients const&, Real& parameter, Real gradient, values<Real, moments>&) const'
// case 11: halfstep: this update rule lacks 'void update(coefficients const&, Real& parameter, Real gradient, values<Real, moments>&) const'
// case 12: halfstep: this update rule lacks 'void update(coefficients const&, Real& parameter, Real gradient, values<Real, moments>&) const'
// case 13: halfstep: this update rule lacks 'void update(coefficients const&, Real& parameter, Real gradient, values<Real, moments>&) const'
#include "in_case.hpp"

struct heavy_ball {
    using slot = hs::update_rule_slot;
    float momentum = 0.9f;

#if HALFSTEP_CASE == 2
    static constexpr int moments = -1;
#elif HALFSTEP_CASE != 1
    static constexpr int moments = 1;
#endif

#if HALFSTEP_CASE == 4
    struct coefficients {
        std::vector<float> lr_and_momentum;
    };
#elif HALFSTEP_CASE == 5
    struct coefficients {
        float& lr;
        float momentum;
    };
#elif HALFSTEP_CASE != 3
    struct coefficients {
        float lr, momentum;
    };
#endif

#if HALFSTEP_CASE == 7
    constexpr coefficients prepare(float lr) const { return {lr, momentum}; }
#elif HALFSTEP_CASE == 8
    constexpr float prepare(hs::rule_input const& in) const { return in.lr; }
#elif HALFSTEP_CASE != 6 && HALFSTEP_CASE != 3 && HALFSTEP_CASE != 4 && HALFSTEP_CASE != 5
    constexpr coefficients prepare(hs::rule_input const& in) const { return {in.lr, momentum}; }
#endif

#if HALFSTEP_CASE == 10
    constexpr void update(coefficients const& c, float& parameter, float gradient) const {
        parameter = hs::fma(-c.lr, gradient, parameter);
    }
#elif HALFSTEP_CASE == 11  // a copy: the parameter would stay as it is
    constexpr void update(coefficients const& c, float parameter, float gradient, hs::values<float, 1>& moment) const {
        moment[0] = hs::fma(c.momentum, moment[0], gradient);
        parameter = hs::fma(-c.lr, moment[0], parameter);
    }
#elif HALFSTEP_CASE == 12  // a copy: the moment would stay zero
    constexpr void update(coefficients const& c, float& parameter, float gradient, hs::values<float, 1> moment) const {
        moment[0] = hs::fma(c.momentum, moment[0], gradient);
        parameter = hs::fma(-c.lr, moment[0], parameter);
    }
#elif HALFSTEP_CASE == 13
    constexpr void update(coefficients const& c, float& parameter, float gradient, hs::values<float, 2>& moment) const {
        moment[0] = hs::fma(c.momentum, moment[0], gradient);
        parameter = hs::fma(-c.lr, moment[0], parameter);
    }
#elif HALFSTEP_CASE == 0
    constexpr void update(coefficients const& c, float& parameter, float gradient, hs::values<float, 1>& moment) const {
        moment[0] = hs::fma(c.momentum, moment[0], gradient);
        parameter = hs::fma(-c.lr, moment[0], parameter);
    }
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, heavy_ball{}>{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
