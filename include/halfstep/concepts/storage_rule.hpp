// SPDX-License-Identifier: Apache-2.0
/// The concept of a storage rule: how the fp32 value of a parameter is kept.
#pragma once

#include <concepts>
#include <type_traits>

#include <halfstep/core/element.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

namespace storage_rule_needs {
template <class P, class T>
concept a_companion =
    requires { typename P::template companion<T>; } && std::is_trivially_copyable_v<typename P::template companion<T>>;
template <class P, class T>
concept an_initial_companion = requires(P const p, T const parameter) {
    { p.initial(parameter) } -> std::same_as<typename P::template companion<T>>;
};
template <class P, class T>
concept a_load = requires(P const p, T const parameter, typename P::template companion<T> const c) {
    { p.load(parameter, c) } -> std::same_as<float>;
};
/// A parameter, or a companion, that `store` takes by value would never change.
template <class P, class T>
concept a_store = requires(P const p, float const value, T& parameter, typename P::template companion<T>& c,
                           noise<float> const n) { p.store(value, parameter, c, n); } &&
                  !requires(P const p, float const value, typename P::template companion<T>& c, noise<float> const n) {
                      p.store(value, T{}, c, n);
                  } &&
                  (std::is_empty_v<typename P::template companion<T>> ||
                   !requires(P const p, float const value, T& parameter, noise<float> const n) {
                       p.store(value, parameter, typename P::template companion<T>{}, n);
                   });
}  // namespace storage_rule_needs

/// Keeps the value that a rule advances in a parameter of type `T` and one companion beside it, `no_companion` for
/// none.
///
/// `load` gives the value in fp32, `store` takes the next one and writes both; as templates over packed types they run
/// on lanes. `initial` is the companion at `bind`. Optional: `seed`, a member that enters the noise; `static constexpr
/// bool overwrites_parameter = true` where `load` does not look at the parameter. Laws: right after `bind`, `load`
/// gives the parameter's value exactly; `store` depends on its arguments alone.
template <class P, class T>
concept storage_rule_for = fills<P, storage_slot> && storage_type<T> && storage_rule_needs::a_companion<P, T> &&
                           storage_rule_needs::an_initial_companion<P, T> && storage_rule_needs::a_load<P, T> &&
                           storage_rule_needs::a_store<P, T>;

/// A storage rule for some dtype of ours.
template <class P>
concept storage_rule = storage_rule_for<P, fp16> || storage_rule_for<P, bf16> || storage_rule_for<P, float> ||
                       storage_rule_for<P, fp8_e4m3> || storage_rule_for<P, fp8_e5m2>;

namespace archetype {
struct storage_rule {
    using slot = storage_slot;
    template <class T>
    using companion = no_companion;
    constexpr no_companion initial(bf16) const { return {}; }
    constexpr float load(bf16 parameter, no_companion) const { return widen(parameter); }
    constexpr void store(float value, bf16& parameter, no_companion&, noise<float>) const {
        round_into(parameter, value);
    }
};
}  // namespace archetype
static_assert(storage_rule<archetype::storage_rule>);

namespace diagnose {
template <class P, class T>
consteval auto a_storage_rule_for() {
    namespace needs = storage_rule_needs;
    if constexpr (!needs::a_companion<P, T>)
        static_assert(needs::a_companion<P, T>,
                      "halfstep: this storage rule lacks 'template <class T> using companion', no_companion for none");
    else if constexpr (!needs::an_initial_companion<P, T>)
        static_assert(
            needs::an_initial_companion<P, T>,
            "halfstep: this storage rule lacks 'companion<T> initial(T parameter) const' for the group's dtype");
    else if constexpr (!needs::a_load<P, T>)
        static_assert(
            needs::a_load<P, T>,
            "halfstep: this storage rule lacks 'float load(T parameter, companion<T>) const' for the group's dtype");
    else
        static_assert(
            needs::a_store<P, T>,
            "halfstep: this storage rule lacks 'void store(float value, T& parameter, companion<T>&, noise<float>) "
            "const' for the group's dtype");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
