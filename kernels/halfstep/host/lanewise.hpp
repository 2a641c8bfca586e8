// SPDX-License-Identifier: Apache-2.0
/// Runs a policy that was written for plain float on a pack of lanes, one lane after another.
#pragma once

#include <halfstep/element_update.hpp>
#include <halfstep/host/lanes.hpp>

namespace halfstep::detail {

template <>
struct lanes_of<float> {};

template <>
struct lanes_of<host::lanes> {
    using lanes = host::lanes;
    static constexpr int width = host::lane_count;

    /// A pack as an array of its elements, written back when `commit` is called.
    template <class T, class Packed>
    struct spread {
        T element[width];
        explicit spread(Packed const& p) { host::store_lanes(static_cast<T*>(element), p); }
        void commit(Packed& p) const { p = host::load_lanes(static_cast<T const*>(element)); }
        T& operator[](int i) { return element[i]; }
    };
    template <class T>
    struct spread<T, no_companion> {
        no_companion none;
        explicit spread(no_companion) {}
        void commit(no_companion&) const {}
        no_companion& operator[](int) { return none; }
    };
    template <class Packed>
    struct element_of {
        using type = float;
    };
    template <class T>
    struct element_of<host::packed_lanes<T>> {
        using type = T;
    };
    template <class T>
    struct element_of<host::element_lanes<T>> {
        using type = T;
    };
    template <class Packed>
    using spread_of = spread<typename element_of<Packed>::type, Packed>;

    static noise<float> lane(noise<lanes> const& n, int i) { return {n.key, n.index.v[i]}; }

    template <class Clipping>
    static void clip(Clipping const& clipping, lanes& g) {
        spread_of<lanes> x(g);
        for (int i = 0; i < width; ++i) x[i] = clipping.clip(x[i]);
        x.commit(g);
    }
    template <class State, class Packed>
    static lanes load_state(State const& state, Packed const& moment) {
        spread_of<Packed> x(moment);
        spread_of<lanes> m(lanes{0.0f});
        for (int i = 0; i < width; ++i) m[i] = state.load(x[i]);
        lanes result;
        m.commit(result);
        return result;
    }
    template <class State, class Packed>
    static void store_state(State const& state, lanes value, Packed& moment, noise<lanes> const& n) {
        spread_of<Packed> x(moment);
        spread_of<lanes> m(value);
        for (int i = 0; i < width; ++i) state.store(m[i], x[i], lane(n, i));
        x.commit(moment);
    }
    template <class Storage, class Stored, class Companion>
    static lanes load_storage(Storage const& storage, Stored const& parameter, Companion const& companion) {
        spread_of<Stored> p(parameter);
        spread_of<Companion> c(companion);
        spread_of<lanes> x(lanes{0.0f});
        for (int i = 0; i < width; ++i) x[i] = storage.load(p[i], c[i]);
        lanes result;
        x.commit(result);
        return result;
    }
    template <class Storage, class Stored, class Companion>
    static void store_storage(Storage const& storage, lanes value, Stored& parameter, Companion& companion,
                              noise<lanes> const& n) {
        spread_of<Stored> p(parameter);
        spread_of<Companion> c(companion);
        spread_of<lanes> x(value);
        for (int i = 0; i < width; ++i) storage.store(x[i], p[i], c[i], lane(n, i));
        p.commit(parameter);
        c.commit(companion);
    }
    template <class Rule, class Coefficients, int N>
    static void update(Rule const& rule, Coefficients const& c, lanes& parameter, lanes gradient,
                       values<lanes, N>& moment) {
        spread_of<lanes> p(parameter), g(gradient);
        float m[N > 0 ? N : 1][width];
        if constexpr (N > 0)
            for (int k = 0; k < N; ++k) host::store_lanes(static_cast<float*>(m[k]), moment[k]);
        for (int i = 0; i < width; ++i) {
            values<float, N> one;
            if constexpr (N > 0)
                for (int k = 0; k < N; ++k) one[k] = m[k][i];
            rule.update(c, p[i], g[i], one);
            if constexpr (N > 0)
                for (int k = 0; k < N; ++k) m[k][i] = one[k];
        }
        p.commit(parameter);
        if constexpr (N > 0)
            for (int k = 0; k < N; ++k) moment[k] = host::load_lanes(static_cast<float const*>(m[k]));
    }
};

}  // namespace halfstep::detail
