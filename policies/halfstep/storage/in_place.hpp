// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/storage_rule.hpp>

namespace halfstep {

/// The parameter is the value: nothing beside it, rounded to nearest even. The default for float.
///
/// For a 16-bit parameter it must be named, since updates below half a unit in its last place are lost for good (a bf16
/// weight ignores what is below 2^-9 of it).
struct in_place {
    using slot = storage_slot;
    template <class T>
    using companion = no_companion;

    template <class T>
    HS_FUNCTION constexpr no_companion initial(T) const {
        return {};
    }
    template <class Stored>
    HS_FUNCTION constexpr auto load(Stored parameter, no_companion) const {
        return widen(parameter);
    }
    template <class Real, class Stored>
    HS_FUNCTION constexpr void store(Real value, Stored& parameter, no_companion&, noise<Real>) const {
        round_into(parameter, value);
    }
};
static_assert(storage_rule_for<in_place, float> && storage_rule_for<in_place, bf16>);

}  // namespace halfstep
