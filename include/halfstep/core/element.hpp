// SPDX-License-Identifier: Apache-2.0
/// One element, or one pack of lanes, as storage and state rules see it.
///
/// `Real` is the value type that rules compute in: float, or a pack of SIMD lanes. `packed_t<T, Real>` holds the
/// elements of storage type `T` that belong to one `Real`: `T` itself for float. Both have `widen(packed)`,
/// `round_into(packed&, real)` and `stochastic_round_into(packed&, real, random_bits)`.
#pragma once

#include <cstdint>

#include <halfstep/core/config.hpp>
#include <halfstep/core/dtype.hpp>
#include <halfstep/core/random.hpp>
#include <halfstep/core/stochastic.hpp>

namespace halfstep {

/// Says that a storage rule keeps nothing beside the parameter.
struct no_companion {};

/// The elements of type `T` that belong to one `Real`; specialised by each pack of lanes.
template <class T, class Real>
struct packed;
template <class T>
struct packed<T, float> {
    using type = T;
};
template <class T, class Real>
using packed_t = typename packed<T, Real>::type;

/// Integer type with the width of one `Real`.
template <class Real>
using bits_t = decltype(bits_of(Real{}));

/// Random bits for the elements of one `Real`; computed only where a policy asks.
template <class Real>
struct noise {
    noise_key key;
    bits_t<Real> index;
    HS_FUNCTION constexpr bits_t<Real> bits() const { return random_bits(key, index); }
};

/// `out` becomes the `T` nearest to `x`, ties to even.
template <storage_type T>
HS_FUNCTION constexpr void round_into(T& out, float x) {
    out = narrow<T>(x);
}

/// `out` becomes one of the two neighbours of `x`, each with the probability of its nearness. See stochastic.hpp.
template <narrow_type T>
HS_FUNCTION constexpr void stochastic_round_into(T& out, float x, std::uint32_t random) {
    out = T::from_bits(
        static_cast<typename T::bits_type>(stochastic_narrow_bits<typename T::format>(bits_of(x), random)));
}

/// `N` values of one element, such as its moments.
template <class Real, int N>
struct values {
    Real value[static_cast<unsigned>(N)];
    HS_FUNCTION constexpr Real& operator[](int i) { return value[i]; }
    HS_FUNCTION constexpr Real const& operator[](int i) const { return value[i]; }
};
template <class Real>
struct values<Real, 0> {};

}  // namespace halfstep
