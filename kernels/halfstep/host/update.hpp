// SPDX-License-Identifier: Apache-2.0
/// The update pass: load, advance, store, a pack of lanes at a time.
#pragma once

#include <cstdint>

#include <halfstep/core/layout.hpp>
#include <halfstep/element_update.hpp>
#include <halfstep/host/lanes.hpp>
#include <halfstep/host/lanewise.hpp>
#include <halfstep/host/prefetch.hpp>
#include <halfstep/host/walk.hpp>

namespace halfstep::host::inline HS_INSTRUCTION_SET {

/// Where the elements of one stretch lie.
template <class Layout>
struct stretch {
    typename Layout::type* parameter;
    typename Layout::gradient_type const* gradient;
    typename Layout::companion* companion;  ///< null where there is none
    values<typename Layout::moment*, Layout::moments> moment;
    std::int64_t size;
    std::uint64_t first_index;  ///< of its first element in the group
};

/// What is left behind the first `n` elements.
template <class Layout>
stretch<Layout> advanced(stretch<Layout> s, std::int64_t n) {
    s.parameter += n;
    s.gradient += n;
    if constexpr (!std::is_empty_v<typename Layout::companion>) s.companion += n;
    if constexpr (Layout::moments > 0)
        for (int k = 0; k < Layout::moments; ++k) s.moment[k] += n;
    s.first_index += static_cast<std::uint64_t>(n);
    s.size -= n;
    return s;
}

namespace detail {

/// One pack. State arrays are padded, so only what the user owns needs a partial load; a partial store all of them,
/// since what follows may be the next stretch of the same tensor.
template <class Layout, bool Whole, class Policies, class Coefficients>
HS_HOST_INLINE void update_lanes(stretch<Layout> const& s, std::int64_t i, [[maybe_unused]] int rest,
                                 Policies const& policies, Coefficients const& coefficients, lanes factor,
                                 noise<lanes> const& random, packed_t<typename Layout::type, lanes>& parameter) {
    constexpr int count = Layout::moments;
    constexpr bool has_companion = !std::is_empty_v<typename Layout::companion>;
    packed_t<typename Layout::companion, lanes> companion;
    values<packed_t<typename Layout::moment, lanes>, count> moment;
    lanes gradient;
    if constexpr (Whole) {
        gradient = widen(load_lanes(s.gradient + i));
        parameter = load_lanes(s.parameter + i);
    } else {
        gradient = widen(load_lanes(s.gradient + i, rest));
        parameter = load_lanes(s.parameter + i, rest);
    }
    if constexpr (has_companion) companion = load_lanes(s.companion + i);
    if constexpr (count > 0)
        for (int k = 0; k < count; ++k) moment[k] = load_lanes(s.moment[k] + i);

    update_element(policies, coefficients, factor, gradient, parameter, companion, moment, random);

    if constexpr (Whole) {
        if constexpr (has_companion) store_lanes(s.companion + i, companion);
        if constexpr (count > 0)
            for (int k = 0; k < count; ++k) store_lanes(s.moment[k] + i, moment[k]);
    } else {
        if constexpr (has_companion) store_lanes(s.companion + i, companion, rest);
        if constexpr (count > 0)
            for (int k = 0; k < count; ++k) store_lanes(s.moment[k] + i, moment[k], rest);
    }
}

/// Asks for the streams that are read and written, so far ahead that they arrive in time (docs/performance.md).
template <class Layout>
HS_HOST_INLINE void prefetch_ahead(stretch<Layout> const& s, std::int64_t i, std::int64_t elements) {
    constexpr std::int64_t bytes = 2048;
    const auto fetch = [&](auto const* data) __attribute__((always_inline)) {
        prefetch(reinterpret_cast<char const*>(reinterpret_cast<std::uintptr_t>(data + i) +
                                               static_cast<std::uintptr_t>(bytes)),
                 elements * static_cast<std::int64_t>(sizeof *data));
    };
    fetch(s.gradient);
    if constexpr (!std::is_empty_v<typename Layout::companion>) fetch(s.companion);
    if constexpr (Layout::moments > 0)
        for (int k = 0; k < Layout::moments; ++k) fetch(s.moment[k]);
}

}  // namespace detail

/// Asks for the start of every stream of a row.
template <class Layout>
HS_HOST_INLINE void prefetch_row(group_table<Layout> const& table, typename group_table<Layout>::row const& row) {
    const std::int64_t n = row.size < short_stretch ? row.size : short_stretch;
    if (row.gradient == nullptr) return;
    prefetch(row.gradient, n);
    prefetch(row.parameter, n);
    if constexpr (!std::is_empty_v<typename Layout::companion>) prefetch(table.companions + row.state_offset, n);
    if constexpr (Layout::moments > 0)
        for (int k = 0; k < Layout::moments; ++k)
            prefetch(table.moments + k * table.moment_stride + row.state_offset, n);
}

namespace detail {

/// Writes one pack past the caches; `to` is aligned to the pack.
template <class T>
HS_HOST_INLINE void stream_lanes(T* to, packed_lanes<T> x) {
#if defined(HS_LANES_AVX512) || defined(HS_LANES_AVX2)
    if constexpr (sizeof x.v == 32)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)x.v);
    else if constexpr (sizeof x.v == 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)x.v);
    else
#endif
        store_lanes(to, x);
}

}  // namespace detail

/// Streaming a parameter is possible: narrow, never read by its storage, and the pack is one that can be streamed.
template <class Layout>
inline constexpr bool streams_parameter = [] {
#if defined(HS_LANES_AVX512) || defined(HS_LANES_AVX2)
    if constexpr (requires { Layout::storage::overwrites_parameter; })
        return narrow_type<typename Layout::type> && Layout::storage::overwrites_parameter &&
               sizeof(packed_t<typename Layout::type, lanes>) >= 16;
#endif
    return false;
}();

/// Advances one stretch. With `Stream`, whole cache lines of narrow parameters go past the caches.
template <bool Stream, class Layout, class Policies, class Coefficients>
void update_stretch(stretch<Layout> const& where, Policies const& policy_values, Coefficients const& coefficient_values,
                    float gradient_factor, noise_key key) {
    // Copies of our own: nothing that the loop writes can be one of them, so they stay in registers.
    const stretch<Layout> s = where;
    const Policies policies = policy_values;
    const Coefficients coefficients = coefficient_values;
    using T = typename Layout::type;
    using packed_parameter = packed_t<T, lanes>;
    const lanes factor(gradient_factor);
    const auto index = [&](std::int64_t i) {
        return lane_numbers() + lane_bits(static_cast<std::uint32_t>(s.first_index + static_cast<std::uint64_t>(i)));
    };
    std::int64_t i = 0;
    constexpr int unroll = 32 / lane_count;  // whole cache lines of 16-bit parameters
    constexpr std::int64_t stride = unroll * lane_count;
    for (const std::int64_t whole = s.size / stride * stride; i < whole; i += stride) {
        if constexpr (Stream) detail::prefetch_ahead(s, i, stride);
        HS_UNROLL(GCC unroll 8)
        for (int u = 0; u < unroll; ++u) {
            const std::int64_t at = i + u * lane_count;
            packed_parameter parameter;
            detail::update_lanes<Layout, true>(s, at, 0, policies, coefficients, factor, {key, index(at)}, parameter);
            if constexpr (Stream)
                detail::stream_lanes(s.parameter + at, parameter);
            else
                store_lanes(s.parameter + at, parameter);
        }
    }
    if constexpr (Stream) {  // the rest is no whole cache line
        if (i < s.size) update_stretch<false>(advanced(s, i), policies, coefficients, gradient_factor, key);
    } else {
        packed_parameter parameter;
        for (; i + lane_count <= s.size; i += lane_count) {
            detail::update_lanes<Layout, true>(s, i, 0, policies, coefficients, factor, {key, index(i)}, parameter);
            store_lanes(s.parameter + i, parameter);
        }
        if (i < s.size) {
            const int rest = static_cast<int>(s.size - i);
            detail::update_lanes<Layout, false>(s, i, rest, policies, coefficients, factor, {key, index(i)}, parameter);
            store_lanes(s.parameter + i, parameter, rest);
        }
    }
}

}  // namespace halfstep::host::inline HS_INSTRUCTION_SET
