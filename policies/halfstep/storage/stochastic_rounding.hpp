// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <halfstep/concepts/storage_rule.hpp>

namespace halfstep {

/// No master: the narrow parameter is rounded up or down at random, each with the probability of its nearness, so that
/// small updates arrive on average.
///
/// The random bits are a function of the seed, the count of applied steps, the group and the element's index: the same
/// for every thread, block and rank count. Precedent: torchao's `bf16_stochastic_round`.
struct stochastic_rounding {
    using slot = storage_slot;
    std::uint64_t seed = 0;
    template <class T>
    using companion = no_companion;

    template <narrow_type T>
    HS_FUNCTION constexpr no_companion initial(T) const {
        return {};
    }
    template <class Stored>
    HS_FUNCTION constexpr auto load(Stored parameter, no_companion) const {
        return widen(parameter);
    }
    template <class Real, class Stored>
    HS_FUNCTION constexpr void store(Real value, Stored& parameter, no_companion&, noise<Real> random) const {
        stochastic_round_into(parameter, value, random.bits());
    }
};
static_assert(storage_rule_for<stochastic_rounding, bf16> && !storage_rule_for<stochastic_rounding, float>);

}  // namespace halfstep
