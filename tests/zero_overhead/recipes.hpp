// SPDX-License-Identifier: Apache-2.0
/// The recipes that have a step written by hand beside them, on the host and on a device.
#pragma once

#include <halfstep/halfstep.hpp>

namespace overhead {

namespace hs = halfstep;

using fp16_adamw_clip = hs::recipe<hs::fp16{}, hs::adamw{}, hs::static_scaling{}, hs::norm_check{}, hs::clip_by_norm{}>;
using fp16_adamw = hs::recipe<hs::fp16{}, hs::adamw{}, hs::static_scaling{}>;
using bf16_stochastic = hs::recipe<hs::bf16{}, hs::adamw{}, hs::stochastic_rounding{}>;
using float_momentum =
    hs::recipe<hs::dtype<float>{}, hs::sgd<hs::classical_momentum>{.weight_decay = 1e-4f}, hs::no_check{}>;
using bf16_lion = hs::recipe<hs::bf16{}, hs::lion{.weight_decay = 0.1f}>;
using fp16_kahan =
    hs::recipe<hs::fp16{}, hs::adam{}, hs::kahan{}, hs::static_scaling{}, hs::clip_by_value{.max_value = 1}>;

}  // namespace overhead
