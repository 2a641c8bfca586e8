// SPDX-License-Identifier: Apache-2.0
/// Everything for the host: composition, all stock policies, the host backend.
#pragma once

// The concepts first: a compiler's account of an error starts with the way to the header that it is in.
#include <halfstep/concepts/communicator.hpp>
#include <halfstep/concepts/execution_backend.hpp>
#include <halfstep/concepts/gradient_clipping.hpp>
#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/concepts/parameter_group.hpp>
#include <halfstep/concepts/sharding_layout.hpp>
#include <halfstep/concepts/state_rule.hpp>
#include <halfstep/concepts/storage_rule.hpp>
#include <halfstep/concepts/telemetry.hpp>
#include <halfstep/concepts/update_rule.hpp>

#include <halfstep/communicator/self.hpp>
#include <halfstep/compose/optimizer_step.hpp>
#include <halfstep/gradient_clipping/clip_by_norm.hpp>
#include <halfstep/gradient_clipping/clip_by_value.hpp>
#include <halfstep/gradient_clipping/no_clipping.hpp>
#include <halfstep/host/convert.hpp>
#include <halfstep/host/host_backend.hpp>
#include <halfstep/loss_scaling/dynamic_scaling.hpp>
#include <halfstep/loss_scaling/hysteresis_scaling.hpp>
#include <halfstep/loss_scaling/no_scaling.hpp>
#include <halfstep/loss_scaling/static_scaling.hpp>
#include <halfstep/overflow_detection/exponent_check.hpp>
#include <halfstep/overflow_detection/no_check.hpp>
#include <halfstep/overflow_detection/nonfinite_check.hpp>
#include <halfstep/overflow_detection/norm_check.hpp>
#include <halfstep/parameter_group/group.hpp>
#include <halfstep/sharding/replicated.hpp>
#include <halfstep/state/fp32_state.hpp>
#include <halfstep/storage/fp32_master.hpp>
#include <halfstep/storage/in_place.hpp>
#include <halfstep/storage/kahan.hpp>
#include <halfstep/storage/stochastic_rounding.hpp>
#include <halfstep/telemetry/no_telemetry.hpp>
#include <halfstep/telemetry/scale_curve.hpp>
#include <halfstep/update_rule/adagrad.hpp>
#include <halfstep/update_rule/adam.hpp>
#include <halfstep/update_rule/adamw.hpp>
#include <halfstep/update_rule/lion.hpp>
#include <halfstep/update_rule/sgd.hpp>
