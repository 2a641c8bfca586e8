// SPDX-License-Identifier: Apache-2.0
// Settings of clippings, telemetry and groups that are refused, each by its own sentence; in a recipe and in an on<>.
// case 1: halfstep: clip_by_norm.max_norm must be positive and finite
// case 2: halfstep: clip_by_norm.max_norm must be positive and finite
// case 3: halfstep: clip_by_value.max_value must be positive and finite
// case 4: halfstep: clip_by_value.max_value must be positive and finite
// case 5: halfstep: scale_curve.every must be at least 1
// case 6: halfstep: scale_curve.path must not be empty
// case 7: halfstep: group.lr_factor must be finite and not negative
// case 8: halfstep: group.lr_factor must be finite and not negative
// case 9: halfstep: group.weight_decay_factor must be finite and not negative
// case 10: halfstep: group.weight_decay_factor must be finite and not negative
// case 11: halfstep: lion.beta1 must lie in [0, 1)
// case 12: halfstep: lion.beta1 must lie in [0, 1)
#include "in_case.hpp"

constexpr float largest = std::numeric_limits<float>::max();
struct head;
struct backbone;

using by_norm = hs::recipe<hs::bf16{}, hs::clip_by_norm{.max_norm = unless(largest, {{1, 0.0f}, {2, infinity}})}>;
using by_value = hs::recipe<hs::bf16{}, hs::clip_by_value{.max_value = unless(0x1p-149f, {{3, 0.0f}, {4, infinity}})}>;

#if HALFSTEP_CASE == 6
using curve = hs::recipe<hs::bf16{}, hs::scale_curve<hs::json_lines>{.path = ""}>;
#else
using curve = hs::recipe<hs::bf16{}, hs::scale_curve<>{.every = unless(1, {{5, 0}})}>;
#endif

using grouped =
    hs::recipe<hs::group<backbone, hs::bf16>{.lr_factor = unless(0.0f, {{7, -1.0f}, {8, infinity}}),
                                             .weight_decay_factor = unless(0.0f, {{9, -1.0f}, {10, not_a_number}})},
               hs::group<head, hs::bf16>{}, hs::on<head, hs::kahan{}, hs::lion{.beta1 = unless(0.9f, {{11, 1.0f}})}>{},
               hs::on<backbone, hs::lion{.beta1 = unless(0.9f, {{12, 1.0f}})}>{}>;

static_assert(sizeof(by_norm) + sizeof(by_value) + sizeof(curve) + sizeof(grouped) == 4);
