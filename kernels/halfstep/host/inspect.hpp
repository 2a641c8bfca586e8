// SPDX-License-Identifier: Apache-2.0
/// The read of the gradients: flags, and the statistics that somebody asked for, a segment at a time.
#pragma once

#include <cstdint>
#include <cstring>

#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/core/layout.hpp>
#include <halfstep/host/chain_sum.hpp>
#include <halfstep/host/lanes.hpp>
#include <halfstep/host/prefetch.hpp>
#include <halfstep/host/walk.hpp>

namespace halfstep::host::inline HS_INSTRUCTION_SET {

namespace detail {

/// Flags of one pack, by whichever hook the detector has.
template <class T, class Detection, class Packed>
HS_HOST_INLINE lane_mask flags_of(Detection const& detection, Packed const& stored, lanes value) {
    if constexpr (requires {
                      { detection.flags(value) } -> std::same_as<lane_mask>;
                  }) {
        return detection.flags(value);
    } else if constexpr (requires(lane_bits b) {
                             { detection.template flags_bits<T>(b) } -> std::same_as<lane_mask>;
                         }) {
        if constexpr (std::is_same_v<T, float>)
            return detection.template flags_bits<T>(bits_of(value));
        else
            return detection.template flags_bits<T>(stored.extend());
    } else {  // written for plain numbers
        lane_mask mask{};
        for (int i = 0; i < lane_count; ++i) {
            bool flagged = false;
            if constexpr (value_detection<Detection>)
                flagged = detection.flags(value.v[i]);
            else if constexpr (std::is_same_v<T, float>)
                flagged = detection.template flags_bits<T>(halfstep::bits_of(value.v[i]));
            else
                flagged = detection.template flags_bits<T>(stored.extend().v[i]);
            mask.v[i] = flagged ? -1 : 0;
        }
        return mask;
    }
}

template <class T, class Detection, gradient_statistics Wanted>
class segment_inspection {
  public:
    explicit segment_inspection(Detection const& detection) : detection_(detection) {
        for (auto& chain : squares_) chain = lanes(0.0f);
    }
    /// One pack; its place in the row of 64 says which chains it feeds.
    template <class Packed>
    HS_HOST_INLINE void add(int place, Packed const& stored) {
        add(place, stored, [](lane_mask m) { return m; });
    }
    /// The first `n` lanes of one; the others are zero and must not be flagged.
    template <class Packed>
    HS_HOST_INLINE void add_first(int place, Packed const& stored, int n) {
        add(place, stored, [n](lane_mask m) { return m & first_lanes(n); });
    }
    segment_partial result() const {
        segment_partial partial;
        if constexpr (Wanted.sum_of_squares) {
            float chains[sum_chains];
            for (int i = 0; i < vectors; ++i) store_lanes(chains + i * lane_count, squares_[i]);
            partial.sum_of_squares = sum_chains_in_order(chains);
        }
        if constexpr (Wanted.largest_magnitude)
            for (int i = 0; i < lane_count; ++i)
                partial.largest_magnitude =
                    partial.largest_magnitude < largest_.v[i] ? largest_.v[i] : partial.largest_magnitude;
        partial.flagged = any(flagged_ != lane_bits(0u)) ? 1 : 0;
        return partial;
    }
    static constexpr int vectors = sum_chains / lane_count;

  private:
    template <class Packed, class Keep>
    HS_HOST_INLINE void add(int place, Packed const& stored, Keep keep) {
        const lanes value = widen(stored);
        if constexpr (value_detection<Detection> || bit_detection<Detection, T>)
            flagged_ = count_in(flagged_, keep(flags_of<T>(detection_, stored, value)));
        if constexpr (Wanted.sum_of_squares) squares_[place] = fma(value, value, squares_[place]);
        if constexpr (Wanted.largest_magnitude) largest_ = select(abs(value) > largest_, abs(value), largest_);
    }

    Detection const& detection_;
    lanes squares_[vectors];
    lanes largest_{0.0f};
    lane_bits flagged_{0u};  // how many, a lane
};

}  // namespace detail

namespace detail {

/// The detector looks at bits of `T`, many at a time, and nobody asks for more: no conversion is needed.
template <class T, class Detection, gradient_statistics Wanted>
concept inspects_packed_bits = narrow_type<T> && Wanted == gradient_statistics{} &&
                               requires(Detection const d, packed_bits<sizeof(T)> b, std::uint32_t one) {
                                   {
                                       d.template flags_bits<T>(b)
                                   } -> std::same_as<typename packed_bits<sizeof(T)>::mask>;
                                   { d.template flags_bits<T>(one) } -> std::same_as<bool>;
                               };

template <class T, class Detection>
bool any_flagged(T const* gradient, std::int64_t n, Detection const& detection) {
    using bits = packed_bits<sizeof(T)>;
    constexpr std::uintptr_t ahead = segment_elements * sizeof(T);
    constexpr std::int64_t stride = 128 / static_cast<std::int64_t>(sizeof(T));
    typename bits::vector counts{}, seen{};
    std::int64_t i = 0;
    for (const std::int64_t whole = n / stride * stride; i < whole; i += stride) {
        for (std::uintptr_t line = 0; line < 128; line += 64)
            __builtin_prefetch(
                reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(gradient + i) + ahead + line));
        HS_UNROLL(GCC unroll 8)
        for (int u = 0; u < stride; u += bits::width) {
            bits b;
            std::memcpy(&b.v, gradient + i + u, sizeof b.v);
            counts -= (typename bits::vector)detection.template flags_bits<T>(b).v;
        }
        seen |= counts;  // a count of bytes comes back to zero after 256
    }
    bool flagged = false;
    typename bits::element count[bits::width];
    std::memcpy(count, &seen, sizeof seen);
    for (auto c : count) flagged = flagged || c != 0;
    for (; i < n; ++i) {
        typename T::bits_type b;
        std::memcpy(&b, gradient + i, sizeof b);
        flagged = flagged || detection.template flags_bits<T>(std::uint32_t{b});
    }
    return flagged;
}

}  // namespace detail

/// What one segment of `n` gradients yields.
template <gradient_statistics Wanted, class T, class Detection>
    requires detail::inspects_packed_bits<T, Detection, Wanted>
segment_partial inspect_segment(T const* gradient, std::int64_t n, Detection const& detection) {
    segment_partial partial;
    partial.flagged = detail::any_flagged(gradient, n, detection) ? 1 : 0;
    return partial;
}
template <gradient_statistics Wanted, class T, class Detection>
segment_partial inspect_segment(T const* gradient, std::int64_t n, Detection const& detection) {
    detail::segment_inspection<T, Detection, Wanted> inspection(detection);
    constexpr int vectors = decltype(inspection)::vectors;
    // One stream reaches half of what memory gives; asking a segment ahead reaches the rest (docs/performance.md).
    constexpr std::uintptr_t ahead = segment_elements * sizeof(T);
    std::int64_t i = 0;
    for (const std::int64_t rows = n / sum_chains * sum_chains; i < rows; i += sum_chains) {
        for (std::size_t line = 0; line < sum_chains * sizeof(T); line += 64)
            __builtin_prefetch(
                reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(gradient + i) + ahead + line));
        HS_UNROLL(GCC unroll 16)
        for (int place = 0; place < vectors; ++place)
            inspection.add(place, load_lanes(gradient + i + place * lane_count));
    }
    for (int place = 0; i < n; i += lane_count, ++place) {
        const int rest = lanes_left(n - i);
        inspection.add_first(place, load_lanes(gradient + i, rest), rest);
    }
    return inspection.result();
}

/// `inspect_segment` by its address.
template <gradient_statistics Wanted, class T, class Detection>
segment_partial inspect_untyped(void const* gradient, std::int64_t n, void const* detection) {
    return inspect_segment<Wanted>(static_cast<T const*>(gradient), n, *static_cast<Detection const*>(detection));
}

/// The inspection of one group.
struct group_inspection {
    group_rows const* table;
    gradient_report* report;
    void const* detection;
    std::int64_t gradient_bytes;  ///< of one element
    segment_partial (*inspect)(void const* gradient, std::int64_t n, void const* detection);

    /// Fills the partials of segments [begin, end).
    void inspect_segments(std::int64_t begin, std::int64_t end) const {
        walk_segments(*table, begin, end,
                      [this](tensor_row const& row, std::int64_t first, std::int64_t n, std::int64_t segment) {
                          if (tensor_row const* const next = row_after(*table, row, n))
                              prefetch(next->gradient, start_of(*next) * gradient_bytes);
                          for (std::int64_t at = 0; at < n; at += segment_elements, ++segment) {
                              const std::int64_t size = n - at < segment_elements ? n - at : segment_elements;
                              table->partials[segment] =
                                  row.gradient == nullptr
                                      ? segment_partial{}
                                      : inspect(static_cast<char const*>(row.gradient) + (first + at) * gradient_bytes,
                                                size, detection);
                          }
                      });
    }
};

}  // namespace halfstep::host::inline HS_INSTRUCTION_SET
