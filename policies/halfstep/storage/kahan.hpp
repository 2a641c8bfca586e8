// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/storage_rule.hpp>

namespace halfstep {

/// Kahan compensation: a second number of the same narrow type holds what rounding the parameter left behind.
///
/// The rule advances parameter + compensation in fp32; the next parameter is that value rounded, the next compensation
/// the rest rounded. In exact arithmetic this is c += u; p' = p + c; c += p - p' of torch-optimi 0.3; otherwise than
/// there, weight decay acts on the compensated value too.
struct kahan {
    using slot = storage_slot;
    template <class T>
    using companion = T;

    template <narrow_type T>
    HS_FUNCTION constexpr T initial(T) const {
        return T(0.0f);
    }
    template <class Stored>
    HS_FUNCTION constexpr auto load(Stored parameter, Stored compensation) const {
        return widen(parameter) + widen(compensation);
    }
    template <class Real, class Stored>
    HS_FUNCTION constexpr void store(Real value, Stored& parameter, Stored& compensation, noise<Real>) const {
        round_into(parameter, value);
        round_into(compensation, value - widen(parameter));
    }
};
static_assert(storage_rule_for<kahan, bf16> && !storage_rule_for<kahan, float>);

}  // namespace halfstep
