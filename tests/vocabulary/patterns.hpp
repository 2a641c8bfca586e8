// SPDX-License-Identifier: Apache-2.0
/// Bit patterns worth trying, and an obvious reference for the conversions that shares no code with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <halfstep/core/dtype.hpp>
#include <span>
#include <vector>

namespace patterns {

namespace hs = halfstep;

template <class T>
using format_of = hs::dtype_traits<T>;
template <class T>
using pattern_of = typename format_of<T>::bits_type;

template <class T>
inline constexpr std::uint32_t sign_bit =
    std::uint32_t{1} << (format_of<T>::exponent_bits + format_of<T>::mantissa_bits);

/// The value of a finite pattern, by the definition of the format in IEEE 754 and OCP FP8.
template <class T>
double value_by_definition(std::uint32_t pattern) {
    using format = format_of<T>;
    const auto mantissa = static_cast<double>(pattern & ((1u << format::mantissa_bits) - 1));
    const int exponent = static_cast<int>(pattern >> format::mantissa_bits) & ((1 << format::exponent_bits) - 1);
    const double unit = std::ldexp(1.0, -format::mantissa_bits);
    const double magnitude = exponent == 0 ? std::ldexp(mantissa * unit, 1 - format::bias)
                                           : std::ldexp(1 + mantissa * unit, exponent - format::bias);
    return (pattern & sign_bit<T>) != 0 ? -magnitude : magnitude;
}

/// Narrows by looking for the nearer of the two representable neighbours, in exact double arithmetic.
template <class T>
class nearest_by_search {
  public:
    nearest_by_search() {
        for (std::uint32_t pattern = 0; pattern <= format_of<T>::largest_bits; ++pattern)
            values_.push_back(value_by_definition<T>(pattern));
        const double last_gap = values_.back() - values_[values_.size() - 2];
        values_.push_back(values_.back() + last_gap);  // where the next value would be
    }
    /// For anything but NaN.
    std::uint32_t operator()(float x) const {
        const std::uint32_t sign = std::signbit(x) ? sign_bit<T> : 0;
        const double magnitude = std::fabs(static_cast<double>(x));
        const std::uint32_t overflow =
            format_of<T>::has_infinity ? format_of<T>::largest_bits + 1 : format_of<T>::largest_bits;
        if (magnitude >= values_.back()) return sign | overflow;
        const auto above =
            static_cast<std::uint32_t>(std::upper_bound(values_.begin(), values_.end(), magnitude) - values_.begin());
        const std::uint32_t below = above - 1;
        const double to_below = magnitude - values_[below], to_above = values_[above] - magnitude;
        const bool up = to_above < to_below || (to_above == to_below && below % 2 == 1);
        return sign | std::min(up ? above : below, overflow);
    }

  private:
    std::vector<double> values_;
};

/// Every representable value and every midpoint to the next, each with its fp32 neighbours, in both signs. The order is
/// that of record_conversions.py.
template <class T>
std::vector<float> boundary_patterns() {
    constexpr std::uint32_t largest = format_of<T>::largest_bits;
    std::vector<double> values;
    for (std::uint32_t pattern = 0; pattern <= largest; ++pattern) values.push_back(value_by_definition<T>(pattern));
    values.push_back(2 * values[largest] - values[largest - 1]);
    std::vector<float> result;
    for (std::uint32_t pattern = 0; pattern <= largest; ++pattern)
        for (double centre : {values[pattern], (values[pattern] + values[pattern + 1]) / 2}) {
            const std::uint32_t bits = hs::bits_of(static_cast<float>(centre));
            for (std::uint32_t near : {bits == 0 ? 0u : bits - 1, bits, bits + 1}) {
                result.push_back(hs::real_of(near));
                result.push_back(hs::real_of(near | 0x80000000u));
            }
        }
    return result;
}

/// A NaN of each kind: smallest and largest payload, signaling and quiet, both signs.
inline constexpr std::uint32_t nan_patterns[] = {0x7F800001u, 0x7F800200u, 0x7F802000u, 0x7FA00000u, 0x7FBFFFFFu,
                                                 0x7FC00000u, 0x7FC00001u, 0x7FD55555u, 0x7FFFFFFFu, 0xFF800001u,
                                                 0xFF802000u, 0xFFBFFFFFu, 0xFFC00000u, 0xFFD55555u, 0xFFFFFFFFu};

/// Every so many patterns of the 2^32, a prime apart, so that all exponents and many mantissas come up.
inline constexpr std::uint32_t stride = 4099;
template <class F>
void for_strided_patterns(F&& f) {
    for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += stride) f(static_cast<std::uint32_t>(bits));
}

/// Random 32-bit words, the same on every machine: the upper half of a 64-bit linear congruential generator.
class random_words {
  public:
    explicit random_words(std::uint64_t seed) : state_(seed) {}
    std::uint32_t operator()() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state_ >> 32);
    }
    float any_float() {
        static constexpr std::uint32_t special[] = {
            0u,          0x80000000u, 1u,          0x80000001u, 0x007FFFFFu, 0x00800000u, 0x3F800000u, 0xBF800000u,
            0x7F7FFFFFu, 0xFF7FFFFFu, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x3F7FFFFFu, 0x3F800001u, 0x4B800001u};
        const std::uint32_t word = (*this)();
        return hs::real_of(word % 8 == 0 ? special[word / 8 % 16] : (*this)());
    }

  private:
    std::uint64_t state_;
};

/// CRC-32 as zlib's, over the bytes of `values`, least significant first.
template <class Integer>
std::uint32_t crc32(std::span<Integer const> values) {
    std::uint32_t crc = 0xFFFFFFFFu;
    for (Integer value : values)
        for (unsigned byte = 0; byte < sizeof(Integer); ++byte) {
            crc ^= (std::uint32_t{value} >> (8 * byte)) & 0xFFu;
            for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
        }
    return ~crc;
}

}  // namespace patterns
