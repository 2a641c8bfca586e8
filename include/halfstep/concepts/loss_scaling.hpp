// SPDX-License-Identifier: Apache-2.0
/// The concept of a loss-scaling strategy.
#pragma once

#include <concepts>
#include <type_traits>

#include <halfstep/core/member_name.hpp>
#include <halfstep/core/report.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

/// What a scaling wants the caller to hear after a step. `raise` becomes an exception; the step itself is complete.
enum class scaling_event { none, warn_at_floor, raise_at_floor };

namespace loss_scaling_needs {
template <class P>
concept a_state = requires { typename P::state; } && std::is_trivially_copyable_v<typename P::state> &&
                  std::is_default_constructible_v<typename P::state>;
template <class P>
concept a_scale = requires(P const p, typename P::state const s) {
    { p.scale(s) } -> std::same_as<float>;
};
/// A state that `update` takes by value, or as const, would never change.
template <class P>
concept an_update = requires(P const p, typename P::state& s, gradient_report const r) { p.update(s, r); } &&
                    (std::is_empty_v<typename P::state> ||
                     !requires(P const p, gradient_report const r) { p.update(typename P::state{}, r); });
template <class P>
concept initial_if_it_says_so = !member_name::initial<P> || requires(P const p) {
    { p.initial() } -> std::same_as<typename P::state>;
};
template <class P>
concept event_if_it_says_so = !member_name::event<P> || requires(P const p, typename P::state const s) {
    { p.event(s) } -> std::same_as<scaling_event>;
};
}  // namespace loss_scaling_needs

/// Decides the loss scale, and how one step's report changes it.
///
/// `update` sees the agreed verdict in `report.overflowed`, the same on every rank. Optional: `initial()`, the first
/// state (else `state{}`); `event(state)`, see scaling_event; `static constexpr bool scales = false` for a scale that
/// is always 1. Laws: `scale(s)` is positive, finite and has a finite reciprocal in every reachable state; an overflow
/// never raises it.
template <class P>
concept loss_scaling = fills<P, loss_scaling_slot> && loss_scaling_needs::a_state<P> &&
                       loss_scaling_needs::a_scale<P> && loss_scaling_needs::an_update<P> &&
                       loss_scaling_needs::initial_if_it_says_so<P> && loss_scaling_needs::event_if_it_says_so<P>;

/// False for a scaling whose scale is 1 for ever.
template <class P>
inline constexpr bool scales_the_loss = [] {
    if constexpr (requires { P::scales; })
        return static_cast<bool>(P::scales);
    else
        return true;
}();

/// The state before the first step.
template <loss_scaling P>
HS_FUNCTION constexpr typename P::state initial_state(P const& scaling) {
    if constexpr (requires { scaling.initial(); })
        return scaling.initial();
    else
        return typename P::state{};
}

namespace archetype {
struct loss_scaling {
    using slot = loss_scaling_slot;
    struct state {};
    constexpr float scale(state const&) const { return 1024; }
    constexpr void update(state&, gradient_report const&) const {}
};
}  // namespace archetype
static_assert(loss_scaling<archetype::loss_scaling>);

namespace diagnose {
template <class P>
consteval auto a_loss_scaling() {
    namespace needs = loss_scaling_needs;
    if constexpr (!needs::a_state<P>)
        static_assert(
            needs::a_state<P>,
            "halfstep: this loss scaling lacks a trivially copyable type 'state'; it is kept in device memory");
    else if constexpr (!needs::a_scale<P>)
        static_assert(needs::a_scale<P>, "halfstep: this loss scaling lacks 'float scale(state const&) const'");
    else if constexpr (!needs::an_update<P>)
        static_assert(needs::an_update<P>,
                      "halfstep: this loss scaling lacks 'void update(state&, gradient_report const&) const'");
    else if constexpr (!needs::initial_if_it_says_so<P>)
        static_assert(needs::initial_if_it_says_so<P>,
                      "halfstep: this loss scaling's 'initial' cannot be called as 'state initial() const'");
    else
        static_assert(
            needs::event_if_it_says_so<P>,
            "halfstep: this loss scaling's 'event' cannot be called as 'scaling_event event(state const&) const'");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
