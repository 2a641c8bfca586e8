// SPDX-License-Identifier: Apache-2.0
// What is measured: a file of a user with the first HALFSTEP_STEPS of these steps, of which no two share a rule and a
// dtype.
#include <halfstep/halfstep.hpp>

#include <vector>

namespace hs = halfstep;

template <class Recipe, class T>
bool one_step(std::vector<T>& parameters, std::vector<T> const& gradients) {
    hs::optimizer_step opt{Recipe{}};
    opt.bind(parameters, gradients);
    return opt.step(1e-3f).applied;
}

#define HALFSTEP_STEP(number, T, ...)                                                    \
    bool step_##number(std::vector<T>& parameters, std::vector<T> const& gradients) {    \
        return one_step<hs::recipe<hs::dtype<T>{}, __VA_ARGS__>>(parameters, gradients); \
    }

#if HALFSTEP_STEPS >= 1
HALFSTEP_STEP(1, hs::fp16, hs::adamw{})
#endif
#if HALFSTEP_STEPS >= 2
HALFSTEP_STEP(2, hs::bf16, hs::adamw{}, hs::stochastic_rounding{})
#endif
#if HALFSTEP_STEPS >= 3
HALFSTEP_STEP(3, float, hs::sgd<hs::classical_momentum>{}, hs::clip_by_norm{})
#endif
#if HALFSTEP_STEPS >= 4
HALFSTEP_STEP(4, hs::bf16, hs::lion{}, hs::kahan{})
#endif
#if HALFSTEP_STEPS >= 5
HALFSTEP_STEP(5, hs::fp16, hs::sgd<>{}, hs::exponent_check{}, hs::static_scaling{})
#endif
#if HALFSTEP_STEPS >= 6
HALFSTEP_STEP(6, float, hs::adam{}, hs::clip_by_value{})
#endif
#if HALFSTEP_STEPS >= 7
HALFSTEP_STEP(7, hs::fp8_e5m2, hs::adamw{}, hs::hysteresis_scaling<>{})
#endif
#if HALFSTEP_STEPS >= 8
HALFSTEP_STEP(8, hs::bf16, hs::sgd<hs::nesterov>{}, hs::norm_check{}, hs::clip_by_norm{})
#endif
#if HALFSTEP_STEPS >= 9
HALFSTEP_STEP(9, hs::fp16, hs::lion{}, hs::fp32_state<hs::subnormals::keep>{}, hs::clip_by_value{})
#endif
