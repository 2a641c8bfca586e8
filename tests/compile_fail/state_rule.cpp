// SPDX-License-Identifier: Apache-2.0
// A state rule written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this state rule lacks a trivially copyable type 'element'
// case 2: halfstep: this state rule lacks a trivially copyable type 'element'
// case 3: halfstep: this state rule lacks 'float load(element) const'
// case 4: halfstep: this state rule lacks 'float load(element) const'
// case 5: halfstep: this state rule lacks 'void store(float, element&, noise<float>) const'
// case 6: halfstep: this state rule lacks 'void store(float, element&, noise<float>) const'
// case 7: halfstep: this state rule lacks 'void store(float, element&, noise<float>) const'
#include "in_case.hpp"

struct double_state {
    using slot = hs::state_slot;

#if HALFSTEP_CASE == 2
    using element = std::vector<double>;
#elif HALFSTEP_CASE != 1
    using element = double;
#endif

#if HALFSTEP_CASE == 4
    constexpr double load(double e) const { return e; }
#elif HALFSTEP_CASE != 3
    constexpr float load(double e) const { return static_cast<float>(e); }
#endif

#if HALFSTEP_CASE == 6
    constexpr void store(float x, double& e) const { e = static_cast<double>(x); }
#elif HALFSTEP_CASE == 7  // a copy: the moment would stay zero
    constexpr void store(float x, [[maybe_unused]] double e, hs::noise<float>) const { e = static_cast<double>(x); }
#elif HALFSTEP_CASE != 5
    constexpr void store(float x, double& e, hs::noise<float>) const { e = static_cast<double>(x); }
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, double_state{}>{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
