// SPDX-License-Identifier: Apache-2.0
/// The update pass: load, advance, store, a pack of lanes at a time.
#pragma once

#include <cstdint>

#include <halfstep/core/layout.hpp>
#include <halfstep/element_update.hpp>
#include <halfstep/host/lanes.hpp>
#include <halfstep/host/lanewise.hpp>
#include <halfstep/host/prefetch.hpp>
#include <halfstep/host/threads.hpp>
#include <halfstep/host/walk.hpp>

namespace halfstep::host::inline HS_INSTRUCTION_SET {

/// Where the elements of one stretch lie.
template <class Layout>
struct stretch {
    typename Layout::type* parameter;
    typename Layout::gradient_type const* gradient;
    typename Layout::companion* companion;  ///< null where there is none
    values<typename Layout::moment*, Layout::moments> moment;
    std::uint64_t first_index;  ///< of its first element in the group
};

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
        prefetch(reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(data + i) +
                                               static_cast<std::uintptr_t>(bytes)),
                 elements * static_cast<std::int64_t>(sizeof *data));
    };
    fetch(s.gradient);
    if constexpr (!std::is_empty_v<typename Layout::companion>) fetch(s.companion);
    if constexpr (Layout::moments > 0)
        for (int k = 0; k < Layout::moments; ++k) fetch(s.moment[k]);
}

}  // namespace detail

/// The streams of a group, without their types.
struct row_streams {
    std::int64_t parameter_bytes, gradient_bytes, companion_bytes, moment_bytes;  ///< of one element
    void const* companions;
    void const* moments;
    std::int64_t moment_stride;  ///< elements
    int moment_count;

    template <class Layout>
    explicit row_streams(group_table<Layout> const& table)
        : parameter_bytes(sizeof(typename Layout::type)),
          gradient_bytes(sizeof(typename Layout::gradient_type)),
          companion_bytes(std::is_empty_v<typename Layout::companion> ? 0 : sizeof(typename Layout::companion)),
          moment_bytes(sizeof(typename Layout::moment)),
          companions(table.companions),
          moments(table.moments),
          moment_stride(table.moment_stride),
          moment_count(Layout::moments) {}

    /// Asks for the start of a row. As a call it must do more than prefetch: g++ would take it for one without effect.
    HS_NOINLINE void fetch_start(tensor_row const& row) const {
        if (row.gradient == nullptr) return;
        const std::int64_t n = start_of(row);
        prefetch(row.gradient, n * gradient_bytes);
        prefetch(row.parameter, n * parameter_bytes);
        prefetch(static_cast<char const*>(companions) + row.state_offset * companion_bytes, n * companion_bytes);
        for (int k = 0; k < moment_count; ++k)
            prefetch(static_cast<char const*>(moments) + (k * moment_stride + row.state_offset) * moment_bytes,
                     n * moment_bytes);
        asm volatile("");
    }
};

namespace detail {

/// Writes one pack past the caches; `to` is aligned to the pack.
template <class T>
HS_HOST_INLINE void stream_lanes(T* to, packed_lanes<T> x) {
#if defined(HS_LANES_AVX512)
    if constexpr (sizeof x.v == 32)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)x.v);
    else
#endif
#if defined(HS_LANES_AVX512) || defined(HS_LANES_AVX2)
        if constexpr (sizeof x.v == 16)
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

/// Updates elements [i, end) of a stretch. With `Stream`, whole cache lines of narrow parameters go past the caches.
template <bool Stream, class Layout, class Policies, class Coefficients>
void update_stretch(stretch<Layout> const& where, std::int64_t i, std::int64_t end, Policies const& policy_values,
                    Coefficients const& coefficient_values, float gradient_factor, noise_key key) {
    // Copies of our own: nothing that the loop writes can be one of them, so they stay in registers.
    const stretch<Layout> s = where;
    const Policies policies = policy_values;
    const Coefficients coefficients = coefficient_values;
    using T = typename Layout::type;
    using packed_parameter = packed_t<T, lanes>;
    const lanes factor(gradient_factor);
    const auto index = [&](std::int64_t at) {
        return lane_numbers() + lane_bits(static_cast<std::uint32_t>(s.first_index + static_cast<std::uint64_t>(at)));
    };
    constexpr int unroll = 32 / lane_count;  // whole cache lines of 16-bit parameters
    constexpr std::int64_t stride = unroll * lane_count;
    for (const std::int64_t whole = i + (end - i) / stride * stride; i < whole; i += stride) {
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
        if (i < end) update_stretch<false>(where, i, end, policies, coefficients, gradient_factor, key);
    } else {
        packed_parameter parameter;
        for (; i < end; i += lane_count) {
            const int rest = lanes_left(end - i);
            detail::update_lanes<Layout, false>(s, i, rest, policies, coefficients, factor, {key, index(i)}, parameter);
            store_lanes(s.parameter + i, parameter, rest);
        }
    }
}

/// A part of a stretch that one noise key serves, and that goes past the caches or does not.
struct stretch_piece {
    std::int64_t elements;
    bool streams;
};
/// Cut where a key's 2^32 indices end, and before the first whole cache line of what is to be streamed.
HS_NOINLINE inline stretch_piece next_piece(void const* parameter, std::int64_t parameter_bytes, std::int64_t elements,
                                            std::uint64_t first_index, bool stream) {
    const std::uint64_t left = (std::uint64_t{1} << 32) - (first_index & 0xFFFFFFFFu);
    if (left < static_cast<std::uint64_t>(elements)) elements = static_cast<std::int64_t>(left);
    const auto past_line = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(parameter) % 64);
    const std::int64_t before_line = past_line == 0 ? 0 : (64 - past_line) / parameter_bytes;
    if (stream && before_line > 0 && before_line < elements) elements = before_line;
    return {elements, stream && before_line == 0};
}
HS_NOINLINE inline noise_key key_of(std::uint64_t seed, std::int64_t step, std::uint32_t group, std::uint64_t index) {
    return make_noise_key(seed, static_cast<std::uint64_t>(step), group, static_cast<std::uint32_t>(index >> 32));
}

/// The coefficients of a tensor that went without a gradient in `missed` of the applied steps.
template <class Rule>
HS_NOINLINE typename Rule::coefficients prepare_at(Rule const& rule, rule_input in, std::int64_t missed) {
    in.step -= missed;
    return rule.prepare(in);
}

/// Updates the segments `part` of a group.
template <class Clipping, class Values, class Decision, class Layout>
void update_segments(Clipping const& clipping, Values const& policies, Decision const& decision,
                     group_table<Layout> const& table, work_range part, bool stream) {
    const auto element = gather_policies<Layout>(policies, clipping);
    const row_streams streams(table);
    std::int64_t missed = 0;
    typename Layout::rule::coefficients own = decision.coefficients;
    bool streamed = false;
    walk_segments(table, part.begin, part.end,
                  [&](tensor_row const& row, std::int64_t first, std::int64_t n, std::int64_t segment) {
                      std::int64_t& own_missed = table.missed_steps[&row - table.rows];
                      if (row.gradient == nullptr) {
                          if (segment == row.first_segment) ++own_missed;
                          return;
                      }
                      if (own_missed != missed) {  // a tensor counts its own updates
                          missed = own_missed;
                          own = prepare_at(policies.rule, decision.rule, missed);
                      }
                      stretch<Layout> s{table.parameter(row) + first,
                                        table.gradient(row) + first,
                                        nullptr,
                                        {},
                                        static_cast<std::uint64_t>(row.first_index + first)};
                      if constexpr (Layout::moments > 0)
                          for (int k = 0; k < Layout::moments; ++k)
                              s.moment[k] = table.moments + k * table.moment_stride + row.state_offset + first;
                      if constexpr (!std::is_empty_v<typename Layout::companion>)
                          s.companion = table.companions + row.state_offset + first;
                      if (tensor_row const* const next = row_after(table, row, n)) streams.fetch_start(*next);
                      const bool may_stream = streams_parameter<Layout> && stream && n >= segment_elements;
                      for (std::int64_t i = 0; i < n;) {
                          const std::uint64_t index = s.first_index + static_cast<std::uint64_t>(i);
                          const stretch_piece piece =
                              next_piece(s.parameter + i, sizeof *s.parameter, n - i, index, may_stream);
                          const std::int64_t end = i + piece.elements;
                          const noise_key key = key_of(element.seed, decision.rule.step, table.ordinal, index);
                          if constexpr (streams_parameter<Layout>)
                              if (piece.streams) {
                                  update_stretch<true>(s, i, end, element, own, decision.gradient_factor, key);
                                  streamed = true;
                                  i = end;
                                  continue;
                              }
                          update_stretch<false>(s, i, end, element, own, decision.gradient_factor, key);
                          i = end;
                      }
                  });
#if defined(__SSE2__)
    if (streamed) _mm_sfence();
#endif
}

}  // namespace halfstep::host::inline HS_INSTRUCTION_SET
