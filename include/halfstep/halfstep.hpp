// SPDX-License-Identifier: Apache-2.0
/// Everything for the host: composition, all stock policies, the host backend.
#pragma once

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
#include <halfstep/update_rule/adam.hpp>
#include <halfstep/update_rule/adamw.hpp>
#include <halfstep/update_rule/lion.hpp>
#include <halfstep/update_rule/sgd.hpp>
