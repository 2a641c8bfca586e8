// SPDX-License-Identifier: Apache-2.0
/// The recipes that the library holds, each with the name that it is created by. One of your own is one more line.
#pragma once

#include <halfstep/halfstep.hpp>

namespace torch_extension {

namespace hs = halfstep;

using fp16_adamw = hs::recipe<hs::fp16{}, hs::adamw{}, hs::dynamic_scaling{}, hs::norm_check{}, hs::clip_by_norm{}>;
using bf16_adamw = hs::recipe<hs::bf16{}, hs::adamw{}, hs::stochastic_rounding{}>;
using fp32_adamw = hs::recipe<hs::dtype<float>{}, hs::adamw{}>;

/// `f(name, recipe, element type)` for each.
template <class F>
void for_each_recipe(F&& f) {
    f("fp16_adamw", fp16_adamw{}, hs::fp16{});
    f("bf16_adamw", bf16_adamw{}, hs::bf16{});
    f("fp32_adamw", fp32_adamw{}, float{});
}

}  // namespace torch_extension
