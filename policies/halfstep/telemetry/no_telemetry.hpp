// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/telemetry.hpp>

namespace halfstep {

/// Tells nobody. The default; it costs nothing.
struct no_telemetry {
    using slot = telemetry_slot;
    struct recorder {
        constexpr explicit recorder(no_telemetry const&) {}
        constexpr void record(step_record const&) {}
    };
};
static_assert(telemetry<no_telemetry>);

}  // namespace halfstep
