// SPDX-License-Identifier: Apache-2.0
/// The concept of a state rule: how the moments of an update rule are kept.
#pragma once

#include <concepts>
#include <type_traits>

#include <halfstep/core/element.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

namespace state_rule_needs {
template <class P>
concept an_element = requires { typename P::element; } && std::is_trivially_copyable_v<typename P::element>;
template <class P>
concept a_load = requires(P const p, typename P::element const e) {
    { p.load(e) } -> std::same_as<float>;
};
/// An element that `store` takes by value would never change.
template <class P>
concept a_store = requires(P const p, float const x, typename P::element& e, noise<float> const n) {
    p.store(x, e, n);
} && !requires(P const p, float const x, noise<float> const n) { p.store(x, typename P::element{}, n); };
}  // namespace state_rule_needs

/// Keeps each moment of each parameter in one `element`. As templates over packed types, `load` and `store` run on
/// lanes.
///
/// Laws: an element of all zero bytes loads as zero; `load` after `store` is within the rule's stated error.
template <class P>
concept state_rule = fills<P, state_slot> && state_rule_needs::an_element<P> && state_rule_needs::a_load<P> &&
                     state_rule_needs::a_store<P>;

namespace archetype {
struct state_rule {
    using slot = state_slot;
    using element = float;
    constexpr float load(float e) const { return e; }
    constexpr void store(float x, float& e, noise<float>) const { e = x; }
};
}  // namespace archetype
static_assert(state_rule<archetype::state_rule>);

namespace diagnose {
template <class P>
consteval auto a_state_rule() {
    namespace needs = state_rule_needs;
    if constexpr (!needs::an_element<P>)
        static_assert(needs::an_element<P>, "halfstep: this state rule lacks a trivially copyable type 'element'");
    else if constexpr (!needs::a_load<P>)
        static_assert(needs::a_load<P>, "halfstep: this state rule lacks 'float load(element) const'");
    else
        static_assert(needs::a_store<P>,
                      "halfstep: this state rule lacks 'void store(float, element&, noise<float>) const'");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
