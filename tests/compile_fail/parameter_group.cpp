// SPDX-License-Identifier: Apache-2.0
// A parameter group written outside the library, with one member missing or of a wrong type.
// case 1: halfstep: this parameter group lacks a type 'tag' that names it
// case 2: halfstep: this parameter group's 'type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2
// case 3: halfstep: this parameter group's 'type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2
// case 4: halfstep: this parameter group's 'gradient_type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2
// case 5: halfstep: this parameter group's 'gradient_type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2
// case 6: halfstep: this parameter group lacks 'static constexpr bool trains'
// case 7: halfstep: this parameter group lacks 'static constexpr bool trains'
// case 8: halfstep: this parameter group lacks the members 'float lr_factor' and 'float weight_decay_factor'
// case 9: halfstep: this parameter group lacks the members 'float lr_factor' and 'float weight_decay_factor'
// case 10: halfstep: this parameter group lacks the members 'float lr_factor' and 'float weight_decay_factor'
#include "in_case.hpp"

struct head;

struct slow_group {
    using slot = hs::parameter_group_slot;
#if HALFSTEP_CASE != 1
    using tag = head;
#endif

#if HALFSTEP_CASE == 3
    using type = unsigned short;
#elif HALFSTEP_CASE != 2
    using type = hs::fp16;
#endif

#if HALFSTEP_CASE == 5
    using gradient_type = double;
#elif HALFSTEP_CASE != 4
    using gradient_type = float;
#endif

#if HALFSTEP_CASE == 7
    struct trains {};
#elif HALFSTEP_CASE != 6
    static constexpr bool trains = true;
#endif

#if HALFSTEP_CASE != 8
    float lr_factor = 0.1f;
#endif
#if HALFSTEP_CASE == 10
    struct {
    } weight_decay_factor;
#elif HALFSTEP_CASE != 9
    float weight_decay_factor = 1;
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8);
    std::vector<float> gradients(8);
    hs::optimizer_step opt{hs::recipe<slow_group{}>{}};
    opt.bind<head>(parameters, gradients);
    return opt.step(opt.loss_scale());
}
