// SPDX-License-Identifier: Apache-2.0
/// The concept of an update rule, and its elementwise refinement.
#pragma once

#include <concepts>
#include <type_traits>

#include <halfstep/core/element.hpp>
#include <halfstep/core/report.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

namespace update_rule_needs {
template <class P>
concept a_moment_count = requires {
    { P::moments } -> std::convertible_to<int>;
} && (P::moments >= 0);
template <class P>
concept coefficients =
    requires { typename P::coefficients; } && std::is_trivially_copyable_v<typename P::coefficients> &&
    std::is_default_constructible_v<typename P::coefficients>;
template <class P>
concept preparation = requires(P const p, rule_input const in) {
    { p.prepare(in) } -> std::same_as<typename P::coefficients>;
};
/// A parameter, or moments, that `update` takes by value would never change.
template <class P>
concept an_update =
    requires(P const p, typename P::coefficients const c, float& parameter, float const gradient,
             values<float, P::moments>& moments) { p.update(c, parameter, gradient, moments); } &&
    !requires(P const p, typename P::coefficients const c, float const gradient, values<float, P::moments>& moments) {
        p.update(c, 0.0f, gradient, moments);
    } &&
    (P::moments == 0 || !requires(P const p, typename P::coefficients const c, float& parameter, float const gradient) {
        p.update(c, parameter, gradient, values<float, P::moments>{});
    });
}  // namespace update_rule_needs

/// Turns a gradient into the next parameter. `prepare` computes the scalars of a step once; `update` advances one
/// element.
///
/// `parameter`, `gradient` (unscaled, clipped) and moments are values in fp32, or packs of lanes where `update` is a
/// template. Moments start at zero. Laws: `update` depends on its arguments alone; a parameter, a gradient and moments
/// of zero stay zero, so that padding stays harmless; every product that feeds a sum is an `fma`.
template <class P>
concept update_rule = fills<P, update_rule_slot> && update_rule_needs::a_moment_count<P> &&
                      update_rule_needs::coefficients<P> && update_rule_needs::preparation<P>;

/// A rule in which every element goes its own way: no norm of a tensor, no matrix.
template <class P>
concept elementwise_rule = update_rule<P> && update_rule_needs::an_update<P>;

namespace archetype {
struct elementwise_rule {
    using slot = update_rule_slot;
    static constexpr int moments = 0;
    struct coefficients {
        float lr;
    };
    constexpr coefficients prepare(rule_input const& in) const { return {in.lr}; }
    constexpr void update(coefficients const& c, float& parameter, float gradient, values<float, 0>&) const {
        parameter = halfstep::fma(-c.lr, gradient, parameter);
    }
};
}  // namespace archetype
static_assert(elementwise_rule<archetype::elementwise_rule>);

namespace diagnose {
template <class P>
consteval auto an_update_rule() {
    namespace needs = update_rule_needs;
    if constexpr (!needs::a_moment_count<P>)
        static_assert(needs::a_moment_count<P>,
                      "halfstep: this update rule lacks 'static constexpr int moments', 0 or more");
    else if constexpr (!needs::coefficients<P>)
        static_assert(
            needs::coefficients<P>,
            "halfstep: this update rule lacks a trivially copyable type 'coefficients'; it is kept in device memory");
    else if constexpr (!needs::preparation<P>)
        static_assert(needs::preparation<P>,
                      "halfstep: this update rule lacks 'coefficients prepare(rule_input const&) const'");
    else
        static_assert(
            needs::an_update<P>,
            "halfstep: this update rule lacks 'void update(coefficients const&, Real& parameter, Real gradient, "
            "values<Real, moments>&) const'");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
