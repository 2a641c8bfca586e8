// SPDX-License-Identifier: Apache-2.0
/// The variants that are compared, each of them one recipe; the same ones for every backend.
#pragma once

#include <halfstep/halfstep.hpp>

namespace picture_fit::recipes {

namespace hs = halfstep;

inline constexpr hs::adamw rule{};  // PyTorch's defaults

using fp32 = hs::recipe<hs::dtype<float>{}, rule>;
using fp16_unscaled = hs::recipe<hs::fp16{}, rule, hs::no_scaling{}, hs::accept_underflow{}>;
// The number is a guess that has to be right; this one is tiny-cuda-nn's default.
using fp16_static = hs::recipe<hs::fp16{}, rule, hs::static_scaling{.loss_scale = 128}>;
// Needs no guess. The default growth interval of 2000 steps is for longer runs than these.
using fp16_dynamic =
    hs::recipe<hs::fp16{}, rule, hs::dynamic_scaling{.growth_interval = 8}, hs::norm_check{}, hs::scale_curve<>{}>;
using bf16_stochastic = hs::recipe<hs::bf16{}, rule, hs::stochastic_rounding{}>;

}  // namespace picture_fit::recipes
