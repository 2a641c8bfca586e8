// SPDX-License-Identifier: Apache-2.0
// Settings of loss scalings that are refused, each by its own sentence; the control has the most extreme ones that are
// not.
// case 1: halfstep: dynamic_scaling.initial_scale must be positive and finite
// case 2: halfstep: dynamic_scaling.initial_scale must be positive and finite
// case 3: halfstep: dynamic_scaling.initial_scale must be positive and finite
// case 4: halfstep: dynamic_scaling.growth_factor must be greater than 1 and finite
// case 5: halfstep: dynamic_scaling.growth_factor must be greater than 1 and finite
// case 6: halfstep: dynamic_scaling.growth_factor must be greater than 1 and finite
// case 7: halfstep: dynamic_scaling.backoff_factor must lie between 0 and 1
// case 8: halfstep: dynamic_scaling.backoff_factor must lie between 0 and 1
// case 9: halfstep: dynamic_scaling.backoff_factor must lie between 0 and 1
// case 10: halfstep: dynamic_scaling.growth_interval must be at least 1
// case 11: halfstep: dynamic_scaling.floor must be at least 2^-127
// case 12: halfstep: dynamic_scaling.floor must be at least 2^-127
// case 13: halfstep: dynamic_scaling.ceiling must be finite and not below the floor
// case 14: halfstep: dynamic_scaling.ceiling must be finite and not below the floor
// case 15: halfstep: dynamic_scaling.initial_scale must lie in [floor, ceiling]
// case 16: halfstep: dynamic_scaling.initial_scale must lie in [floor, ceiling]
// case 17: halfstep: hysteresis_scaling.initial_scale must be positive and finite
// case 18: halfstep: hysteresis_scaling.initial_scale must be positive and finite
// case 19: halfstep: hysteresis_scaling.initial_scale must be positive and finite
// case 20: halfstep: hysteresis_scaling.growth_factor must be greater than 1 and finite
// case 21: halfstep: hysteresis_scaling.growth_factor must be greater than 1 and finite
// case 22: halfstep: hysteresis_scaling.growth_factor must be greater than 1 and finite
// case 23: halfstep: hysteresis_scaling.backoff_factor must lie between 0 and 1
// case 24: halfstep: hysteresis_scaling.backoff_factor must lie between 0 and 1
// case 25: halfstep: hysteresis_scaling.backoff_factor must lie between 0 and 1
// case 26: halfstep: hysteresis_scaling.growth_interval must be at least 1
// case 27: halfstep: hysteresis_scaling.hysteresis must be at least 1
// case 28: halfstep: hysteresis_scaling.floor must be at least 2^-127
// case 29: halfstep: hysteresis_scaling.floor must be at least 2^-127
// case 30: halfstep: hysteresis_scaling.ceiling must be finite and not below the floor
// case 31: halfstep: hysteresis_scaling.ceiling must be finite and not below the floor
// case 32: halfstep: hysteresis_scaling.initial_scale must lie in [floor, ceiling]
// case 33: halfstep: hysteresis_scaling.initial_scale must lie in [floor, ceiling]
// case 34: halfstep: static_scaling.loss_scale must be finite and at least 2^-127
// case 35: halfstep: static_scaling.loss_scale must be finite and at least 2^-127
// case 36: halfstep: static_scaling.loss_scale must be finite and at least 2^-127
#include "in_case.hpp"

constexpr float largest = std::numeric_limits<float>::max();
constexpr float above_1 = 0x1.000002p0f, below_1 = 0x1.fffffep-1f, smallest = 0x1p-149f;

using dynamic =
    hs::recipe<hs::fp16{},
               hs::dynamic_scaling{
                   .initial_scale =
                       unless(0x1p16f, {{1, 0.0f}, {2, infinity}, {3, not_a_number}, {15, 2.0f}, {16, 0x1p24f}}),
                   .growth_factor = unless(above_1, {{4, 1.0f}, {5, infinity}, {6, not_a_number}}),
                   .backoff_factor = unless(below_1, {{7, 0.0f}, {8, 1.0f}, {9, not_a_number}}),
                   .growth_interval = unless(1, {{10, 0}}),
                   .floor = unless(0x1p-127f, {{11, 0x1.fffff8p-128f}, {12, not_a_number}, {14, 0x1p20f}, {15, 4.0f}}),
                   .ceiling = unless(largest, {{13, infinity}, {14, 0x1p19f}, {16, 0x1p23f}})}>;

using hysteresis =
    hs::recipe<hs::fp16{},
               hs::hysteresis_scaling<>{
                   .initial_scale =
                       unless(0x1p16f, {{17, 0.0f}, {18, infinity}, {19, not_a_number}, {32, 2.0f}, {33, 0x1p24f}}),
                   .growth_factor = unless(largest, {{20, 1.0f}, {21, infinity}, {22, not_a_number}}),
                   .backoff_factor = unless(smallest, {{23, 0.0f}, {24, 1.0f}, {25, not_a_number}}),
                   .growth_interval = unless(1, {{26, 0}}),
                   .hysteresis = unless(1, {{27, 0}}),
                   .floor = unless(0x1p-127f, {{28, 0x1.fffff8p-128f}, {29, not_a_number}, {31, 0x1p20f}, {32, 4.0f}}),
                   .ceiling = unless(0x1p16f, {{30, infinity}, {31, 0x1p19f}, {33, 0x1p23f}})}>;

using fixed =
    hs::recipe<hs::fp16{},
               hs::static_scaling{.loss_scale =
                                      unless(0x1p-127f, {{34, 0x1.fffff8p-128f}, {35, infinity}, {36, not_a_number}})}>;

static_assert(sizeof(dynamic) + sizeof(hysteresis) + sizeof(fixed) == 3);
