// SPDX-License-Identifier: Apache-2.0
/// The recipes that are timed, with the bytes that one step must move a parameter.
#pragma once

#include <halfstep/halfstep.hpp>
#include <string_view>

namespace bench {

namespace hs = halfstep;

template <class Recipe, class T>
struct timed {
    using recipe = Recipe;
    using type = T;  ///< of parameters and gradients
    std::string_view name;
    /// Gradients once to inspect and once to update; parameters read where they are the value; all state read and
    /// written.
    double bytes;
};

using fp16_step = hs::recipe<hs::fp16{}, hs::adamw{}, hs::norm_check{}, hs::clip_by_norm{}>;
using bf16_nearest = hs::recipe<hs::bf16{}, hs::adamw{}, hs::in_place{}>;
using bf16_stochastic = hs::recipe<hs::bf16{}, hs::adamw{}, hs::stochastic_rounding{}>;
using float_adamw = hs::recipe<hs::dtype<float>{}, hs::adamw{}>;

/// The recipes that the comparison with others needs.
template <class F>
void for_each_compared(F&& f) {
    f(timed<fp16_step, hs::fp16>{"fp16_step", 30});
    f(timed<bf16_nearest, hs::bf16>{"bf16_nearest", 24});
    f(timed<bf16_stochastic, hs::bf16>{"bf16_stochastic", 24});
    f(timed<float_adamw, float>{"float_adamw", 32});
}

using fp16_adamw = hs::recipe<hs::fp16{}, hs::adamw{}>;
using bf16_master_unchecked = hs::recipe<hs::bf16{}, hs::adamw{}, hs::no_check{}>;
using bf16_kahan = hs::recipe<hs::bf16{}, hs::adamw{}, hs::kahan{}>;
using bf16_lion = hs::recipe<hs::bf16{}, hs::lion{}>;
using fp16_sgd = hs::recipe<hs::fp16{}, hs::sgd<>{}>;
using float_momentum = hs::recipe<hs::dtype<float>{}, hs::sgd<hs::classical_momentum>{}>;

template <class F>
void for_each_recipe(F&& f) {
    for_each_compared(f);
    f(timed<fp16_adamw, hs::fp16>{"fp16_adamw", 30});
    f(timed<bf16_master_unchecked, hs::bf16>{"bf16_master_unchecked", 28});
    f(timed<bf16_kahan, hs::bf16>{"bf16_kahan", 28});
    f(timed<bf16_lion, hs::bf16>{"bf16_lion", 22});
    f(timed<fp16_sgd, hs::fp16>{"fp16_sgd", 14});
    f(timed<float_momentum, float>{"float_momentum", 24});
}

}  // namespace bench
