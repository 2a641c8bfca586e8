// SPDX-License-Identifier: Apache-2.0
/// The concept of telemetry: who hears of each step.
#pragma once

#include <concepts>

#include <halfstep/core/report.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

namespace telemetry_needs {
template <class P>
concept a_recorder = requires { typename P::recorder; } && std::constructible_from<typename P::recorder, P const&>;
template <class P>
concept a_record = requires(typename P::recorder& r, step_record const s) { r.record(s); };
}  // namespace telemetry_needs

/// Makes a `recorder` when the step is built; it hears of every step, applied or skipped, in order, on the host.
///
/// Law: a recorder changes nothing of the step.
template <class P>
concept telemetry = fills<P, telemetry_slot> && telemetry_needs::a_recorder<P> && telemetry_needs::a_record<P>;

namespace archetype {
struct telemetry {
    using slot = telemetry_slot;
    struct recorder {
        constexpr explicit recorder(telemetry const&) {}
        constexpr void record(step_record const&) {}
    };
};
}  // namespace archetype
static_assert(telemetry<archetype::telemetry>);

namespace diagnose {
template <class P>
consteval auto a_telemetry() {
    namespace needs = telemetry_needs;
    if constexpr (!needs::a_recorder<P>)
        static_assert(needs::a_recorder<P>,
                      "halfstep: this telemetry lacks a type 'recorder' that is constructed from the policy");
    else
        static_assert(needs::a_record<P>,
                      "halfstep: this telemetry's recorder lacks 'void record(step_record const&)'");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
