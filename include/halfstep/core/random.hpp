// SPDX-License-Identifier: Apache-2.0
/// Counter-based randomness: a function of seed, step, group and element index, and of nothing else.
#pragma once

#include <cstdint>

#include <halfstep/core/config.hpp>

namespace halfstep {

/// The part of a random word that a whole tensor shares on one step.
struct noise_key {
    std::uint32_t before = 0;
    std::uint32_t between = 0;
};

namespace detail {
/// SplitMix64 (Steele, Lea and Flood, 2014): the finaliser alone.
HS_FUNCTION constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
}  // namespace detail

/// The key of `step` for elements whose index has the upper 32 bits `index_high`, in the group numbered `group`.
HS_FUNCTION constexpr noise_key make_noise_key(std::uint64_t seed, std::uint64_t step, std::uint32_t group,
                                               std::uint32_t index_high) {
    const std::uint64_t where = (std::uint64_t{group} << 32) | index_high;
    const std::uint64_t key = detail::mix(detail::mix(detail::mix(seed) ^ step) ^ where);
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

/// 32 random bits for the element whose index ends in `index_low`. `Bits` is an integer or a pack of them.
///
/// Two multiplications (the constants of lowbias32, Wellons 2018); the second half of the key enters between them, so
/// that two keys never give the same sequence in another order.
template <class Bits>
HS_FUNCTION constexpr Bits random_bits(noise_key key, Bits index_low) {
    Bits x = index_low ^ Bits(key.before);
    x = x ^ (x >> 16);
    x = x * Bits(0x7FEB352Du);
    x = x ^ Bits(key.between);
    x = x ^ (x >> 15);
    x = x * Bits(0x846CA68Bu);
    return x ^ (x >> 16);
}

}  // namespace halfstep
