// SPDX-License-Identifier: Apache-2.0
/// What happens to one element in an update, as a sequence of policy calls. Both backends run this.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <halfstep/core/element.hpp>
#include <halfstep/core/report.hpp>

namespace halfstep {

/// The values of the policies that an update calls, without the group's name, and the seed of its noise.
template <class Storage, class State, class Clipping, class Rule>
struct element_policies {
    [[no_unique_address]] Storage storage;
    [[no_unique_address]] State state;
    [[no_unique_address]] Clipping clipping;
    [[no_unique_address]] Rule rule;
    std::uint64_t seed = 0;
};

/// The values of a group's policies for `Layout`, gathered.
template <class Layout, class Values, class Clipping>
constexpr auto gather_policies(Values const& values, Clipping const& clipping) {
    element_policies<typename Layout::storage, typename Layout::state, Clipping, typename Layout::rule> result{
        values.storage, values.state, clipping, values.rule, 0};
    if constexpr (requires { values.storage.seed; }) result.seed = values.storage.seed;
    return result;
}

namespace detail {

/// Calls `f` on each lane of `Real` arguments that are packs, for a policy written for plain float. `lanes_of<Real>` is
/// specialised beside each pack.
template <class Real>
struct lanes_of;

template <class Storage, class Stored, class Companion, class Real>
concept storage_takes = requires(Storage const s, Stored p, Companion c, Real x, noise<Real> n) {
    { s.load(p, c) } -> std::same_as<Real>;
    s.store(x, p, c, n);
};
template <class State, class Element, class Real>
concept state_takes = requires(State const s, Element e, Real x, noise<Real> n) {
    { s.load(e) } -> std::same_as<Real>;
    s.store(x, e, n);
};
template <class Rule, class Real>
concept rule_takes = requires(Rule const r, typename Rule::coefficients const c, Real p, Real g,
                              values<Real, Rule::moments>& m) { r.update(c, p, g, m); };
template <class Clipping, class Real>
concept clipping_takes = requires(Clipping const c, Real g) {
    { c.clip(g) } -> std::same_as<Real>;
};

}  // namespace detail

/// The clipping has an elementwise hook.
template <class Clipping>
concept clips_elements = detail::clipping_takes<Clipping, float>;

/// `parameter`, `companion` and `moment` advance by one step with the widened, still scaled `gradient`.
template <class Policies, class Real, class Stored, class Companion, class Moments, class Coefficients>
HS_INLINE constexpr void update_element(Policies const& policies, Coefficients const& coefficients,
                                        Real gradient_factor, Real gradient, Stored& parameter, Companion& companion,
                                        Moments& moment, noise<Real> const& random) {
    using lanewise = detail::lanes_of<Real>;
    using rule_type = std::remove_cvref_t<decltype(policies.rule)>;
    using state_type = std::remove_cvref_t<decltype(policies.state)>;
    using storage_type = std::remove_cvref_t<decltype(policies.storage)>;
    using clipping_type = std::remove_cvref_t<decltype(policies.clipping)>;
    constexpr int count = rule_type::moments;

    Real g = gradient * gradient_factor;
    if constexpr (detail::clipping_takes<clipping_type, Real>)
        g = policies.clipping.clip(g);
    else if constexpr (clips_elements<clipping_type>)
        lanewise::clip(policies.clipping, g);

    values<Real, count> m;
    if constexpr (count > 0)
        for (int k = 0; k < count; ++k) {
            if constexpr (detail::state_takes<state_type, std::remove_cvref_t<decltype(moment[0])>, Real>)
                m[k] = policies.state.load(moment[k]);
            else
                m[k] = lanewise::load_state(policies.state, moment[k]);
        }

    Real value;
    if constexpr (detail::storage_takes<storage_type, Stored, Companion, Real>)
        value = policies.storage.load(parameter, companion);
    else
        value = lanewise::load_storage(policies.storage, parameter, companion);

    if constexpr (detail::rule_takes<rule_type, Real>)
        policies.rule.update(coefficients, value, g, m);
    else
        lanewise::update(policies.rule, coefficients, value, g, m);

    if constexpr (detail::storage_takes<storage_type, Stored, Companion, Real>)
        policies.storage.store(value, parameter, companion, random);
    else
        lanewise::store_storage(policies.storage, value, parameter, companion, random);

    if constexpr (count > 0)
        for (int k = 0; k < count; ++k) {
            if constexpr (detail::state_takes<state_type, std::remove_cvref_t<decltype(moment[0])>, Real>)
                policies.state.store(m[k], moment[k], random);
            else
                lanewise::store_state(policies.state, m[k], moment[k], random);
        }
}

}  // namespace halfstep
