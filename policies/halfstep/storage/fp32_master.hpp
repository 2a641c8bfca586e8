// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/storage_rule.hpp>

namespace halfstep {

/// An fp32 master copy beside a narrow parameter; the parameter is its nearest value. The default for 16-bit and fp8
/// groups.
///
/// The parameter is written and never read again, so what others do to it is undone by the next step.
struct fp32_master {
    using slot = storage_slot;
    static constexpr bool overwrites_parameter = true;
    template <class T>
    using companion = float;

    template <narrow_type T>
    HS_FUNCTION constexpr float initial(T parameter) const {
        return widen(parameter);
    }
    template <class Stored, class Real>
    HS_FUNCTION constexpr Real load(Stored, Real master) const {
        return master;
    }
    template <class Real, class Stored>
    HS_FUNCTION constexpr void store(Real value, Stored& parameter, Real& master, noise<Real>) const {
        master = value;
        round_into(parameter, value);
    }
};
static_assert(storage_rule_for<fp32_master, fp16> && storage_rule_for<fp32_master, fp8_e4m3>);

}  // namespace halfstep
