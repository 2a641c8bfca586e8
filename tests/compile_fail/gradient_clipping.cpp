// SPDX-License-Identifier: Apache-2.0
// A gradient clipping written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this gradient clipping lacks 'double factor(gradient_norms const&) const'
// case 2: halfstep: this gradient clipping lacks 'double factor(gradient_norms const&) const'
// case 3: halfstep: this gradient clipping lacks 'double factor(gradient_norms const&) const'
// case 4: halfstep: this gradient clipping's 'clip' cannot be called as 'float clip(float gradient) const'
// case 5: halfstep: this gradient clipping's 'clip' cannot be called as 'float clip(float gradient) const'
// case 6: halfstep: this gradient clipping's 'clip' cannot be called as 'float clip(float gradient) const'
#include "in_case.hpp"

struct one_sided {
    using slot = hs::gradient_clipping_slot;
    float highest = 1;

#if HALFSTEP_CASE == 2
    constexpr double factor(double norm) const { return norm < 1 ? 1 : 1 / norm; }
#elif HALFSTEP_CASE == 3
    constexpr void factor(hs::gradient_norms const&) const {}
#elif HALFSTEP_CASE != 1
    constexpr double factor(hs::gradient_norms const& n) const { return n.all < 1 ? 1 : 1 / n.all; }
#endif

#if HALFSTEP_CASE == 4
    constexpr void clip(float& gradient) const { gradient = gradient > highest ? highest : gradient; }
#elif HALFSTEP_CASE == 5
    constexpr float clip(float gradient) { return gradient > highest ? highest : gradient; }
#elif HALFSTEP_CASE == 6
    constexpr double clip(float gradient) const { return static_cast<double>(gradient > highest ? highest : gradient); }
#else
    constexpr float clip(float gradient) const { return gradient > highest ? highest : gradient; }
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::adamw{}, hs::fp16{}, one_sided{}>{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
