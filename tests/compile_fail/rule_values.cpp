// SPDX-License-Identifier: Apache-2.0
// Settings of update rules that are refused, each by its own sentence; the control has the most extreme ones that are
// not.
// case 1: halfstep: adamw.beta1 must lie in [0, 1)
// case 2: halfstep: adamw.beta1 must lie in [0, 1)
// case 3: halfstep: adamw.beta2 must lie in [0, 1)
// case 4: halfstep: adamw.beta2 must lie in [0, 1)
// case 5: halfstep: adamw.eps must be finite and at least 2^-126; less vanishes
// case 6: halfstep: adamw.eps must be finite and at least 2^-126; less vanishes
// case 7: halfstep: adamw.weight_decay must be finite and not negative
// case 8: halfstep: adamw.weight_decay must be finite and not negative
// case 9: halfstep: adam.beta1 must lie in [0, 1)
// case 10: halfstep: adam.beta1 must lie in [0, 1)
// case 11: halfstep: adam.beta2 must lie in [0, 1)
// case 12: halfstep: adam.beta2 must lie in [0, 1)
// case 13: halfstep: adam.eps must be finite and at least 2^-126; less vanishes
// case 14: halfstep: adam.eps must be finite and at least 2^-126; less vanishes
// case 15: halfstep: adam.weight_decay must be finite and not negative
// case 16: halfstep: adam.weight_decay must be finite and not negative
// case 17: halfstep: lion.beta1 must lie in [0, 1)
// case 18: halfstep: lion.beta1 must lie in [0, 1)
// case 19: halfstep: lion.beta2 must lie in [0, 1)
// case 20: halfstep: lion.beta2 must lie in [0, 1)
// case 21: halfstep: lion.weight_decay must be finite and not negative
// case 22: halfstep: lion.weight_decay must be finite and not negative
// case 23: halfstep: sgd.momentum must lie between 0 and 1; for none name sgd<>
// case 24: halfstep: sgd.momentum must lie between 0 and 1; for none name sgd<>
// case 25: halfstep: sgd.dampening must lie in [0, 1)
// case 26: halfstep: sgd.dampening must lie in [0, 1)
// case 27: halfstep: sgd<nesterov>.dampening must be 0
// case 28: halfstep: sgd.weight_decay must be finite and not negative
// case 29: halfstep: sgd.weight_decay must be finite and not negative
// case 30: halfstep: sgd.weight_decay must be finite and not negative
// case 31: halfstep: sgd.weight_decay must be finite and not negative
// case 32: halfstep: adagrad.lr_decay must be finite and not negative
// case 33: halfstep: adagrad.lr_decay must be finite and not negative
// case 34: halfstep: adagrad.weight_decay must be finite and not negative
// case 35: halfstep: adagrad.weight_decay must be finite and not negative
// case 36: halfstep: adagrad.eps must be finite and at least 2^-126; less vanishes
// case 37: halfstep: adagrad.eps must be finite and at least 2^-126; less vanishes
#include "in_case.hpp"

constexpr float largest = std::numeric_limits<float>::max();
constexpr float below_1 = 0x1.fffffep-1f;

using adamw = hs::recipe<hs::bf16{}, hs::adamw{.beta1 = unless(0.0f, {{1, 1.0f}, {2, -0x1p-149f}}),
                                               .beta2 = unless(below_1, {{3, 1.0f}, {4, not_a_number}}),
                                               .eps = unless(0x1p-126f, {{5, 0x1.fffffcp-127f}, {6, infinity}}),
                                               .weight_decay = unless(largest, {{7, -1.0f}, {8, infinity}})}>;

using adam = hs::recipe<hs::bf16{}, hs::adam{.beta1 = unless(0.0f, {{9, 1.0f}, {10, not_a_number}}),
                                             .beta2 = unless(below_1, {{11, 1.0f}, {12, -0x1p-149f}}),
                                             .eps = unless(0x1p-126f, {{13, 0x1.fffffcp-127f}, {14, infinity}}),
                                             .weight_decay = unless(largest, {{15, -1.0f}, {16, not_a_number}})}>;

using lion = hs::recipe<hs::bf16{}, hs::lion{.beta1 = unless(below_1, {{17, 1.0f}, {18, -0x1p-149f}}),
                                             .beta2 = unless(0.0f, {{19, 1.0f}, {20, not_a_number}}),
                                             .weight_decay = unless(largest, {{21, -1.0f}, {22, infinity}})}>;

using momentum = hs::recipe<hs::bf16{}, hs::sgd<hs::classical_momentum>{
                                            .momentum = unless(below_1, {{23, 0.0f}, {24, 1.0f}}),
                                            .dampening = unless(below_1, {{25, 1.0f}, {26, -0x1p-149f}}),
                                            .weight_decay = unless(largest, {{28, -1.0f}, {29, infinity}})}>;

using nesterov = hs::recipe<hs::bf16{}, hs::sgd<hs::nesterov>{.dampening = unless(0.0f, {{27, 0.5f}})}>;

using plain = hs::recipe<hs::bf16{}, hs::sgd<>{.weight_decay = unless(largest, {{30, -1.0f}, {31, infinity}})}>;

using adagrad = hs::recipe<hs::bf16{}, hs::adagrad{.lr_decay = unless(largest, {{32, -0x1p-149f}, {33, infinity}}),
                                                   .weight_decay = unless(largest, {{34, -1.0f}, {35, not_a_number}}),
                                                   .eps = unless(0x1p-126f, {{36, 0x1.fffffcp-127f}, {37, infinity}})}>;

static_assert(sizeof(adamw) + sizeof(adam) + sizeof(lion) + sizeof(momentum) + sizeof(nesterov) + sizeof(plain) +
                  sizeof(adagrad) ==
              7);
