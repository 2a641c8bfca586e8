// SPDX-License-Identifier: Apache-2.0
/// A pack of SIMD lanes, in which rules and storage are computed on the host: 16 floats with AVX-512, 8 with AVX2, FMA
/// and F16C, else 4 by plain vector operations.
///
/// A wrapper of our own and not xsimd: the same loop compiled in about two thirds of the time and memory, ran as fast,
/// and xsimd has no 16-bit types (docs/performance.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <halfstep/core/config.hpp>
#include <halfstep/core/element.hpp>
#include <halfstep/host/instruction_set.hpp>

#if defined(HS_LANES_AVX512)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>  // the whole of <immintrin.h> costs a file 0.5 s where the compiler may use little of it
#endif
#include <halfstep/host/avx2.hpp>

namespace halfstep::host::inline HS_INSTRUCTION_SET {

#if defined(HS_LANES_AVX512)
inline constexpr int lane_count = 16;
/// The zero-masking intrinsics with a full mask compile to the plain instructions; the plain ones warn of an
/// uninitialised register under g++ 12 (GCC bug 105593).
inline constexpr __mmask16 every_lane = 0xFFFF;
#elif defined(HS_LANES_AVX2)
inline constexpr int lane_count = 8;
#else
inline constexpr int lane_count = 4;
#endif

using float_vector = float __attribute__((vector_size(4 * lane_count)));
using int_vector = std::int32_t __attribute__((vector_size(4 * lane_count)));
using unsigned_vector = std::uint32_t __attribute__((vector_size(4 * lane_count)));

/// A condition a lane. It has the operators of a bool, so that one line serves both.
struct lane_mask {
    int_vector v;  // all bits set where true

    friend HS_HOST_INLINE lane_mask operator&(lane_mask a, lane_mask b) { return {a.v & b.v}; }
    friend HS_HOST_INLINE lane_mask operator|(lane_mask a, lane_mask b) { return {a.v | b.v}; }
    friend HS_HOST_INLINE lane_mask operator!(lane_mask a) { return {~a.v}; }
    friend HS_HOST_INLINE lane_mask operator&&(lane_mask a, lane_mask b) { return a & b; }
    friend HS_HOST_INLINE lane_mask operator||(lane_mask a, lane_mask b) { return a | b; }
};

/// Unsigned 32-bit integers, one a lane. Comparisons are signed: patterns compared here are below 2^31.
struct lane_bits {
    unsigned_vector v;

    lane_bits() = default;
    HS_HOST_INLINE lane_bits(unsigned_vector x) : v(x) {}
    HS_HOST_INLINE explicit lane_bits(std::uint32_t x) : v(x - unsigned_vector{}) {}

    friend HS_HOST_INLINE lane_bits operator+(lane_bits a, lane_bits b) { return a.v + b.v; }
    friend HS_HOST_INLINE lane_bits operator-(lane_bits a, lane_bits b) { return a.v - b.v; }
    friend HS_HOST_INLINE lane_bits operator*(lane_bits a, lane_bits b) { return a.v * b.v; }
    friend HS_HOST_INLINE lane_bits operator&(lane_bits a, lane_bits b) { return a.v & b.v; }
    friend HS_HOST_INLINE lane_bits operator|(lane_bits a, lane_bits b) { return a.v | b.v; }
    friend HS_HOST_INLINE lane_bits operator^(lane_bits a, lane_bits b) { return a.v ^ b.v; }
    friend HS_HOST_INLINE lane_bits operator<<(lane_bits a, int n) { return a.v << n; }
    friend HS_HOST_INLINE lane_bits operator>>(lane_bits a, int n) { return a.v >> n; }
    friend HS_HOST_INLINE lane_mask operator<(lane_bits a, lane_bits b) { return {(int_vector)a.v < (int_vector)b.v}; }
    friend HS_HOST_INLINE lane_mask operator>(lane_bits a, lane_bits b) { return {(int_vector)a.v > (int_vector)b.v}; }
    friend HS_HOST_INLINE lane_mask operator>=(lane_bits a, lane_bits b) {
        return {(int_vector)a.v >= (int_vector)b.v};
    }
    friend HS_HOST_INLINE lane_mask operator<=(lane_bits a, lane_bits b) {
        return {(int_vector)a.v <= (int_vector)b.v};
    }
    friend HS_HOST_INLINE lane_mask operator==(lane_bits a, lane_bits b) { return {a.v == b.v}; }
    friend HS_HOST_INLINE lane_mask operator!=(lane_bits a, lane_bits b) { return {a.v != b.v}; }
    friend HS_HOST_INLINE lane_bits select(lane_mask m, lane_bits yes, lane_bits no) { return m.v ? yes.v : no.v; }
    friend HS_HOST_INLINE lane_bits lesser(lane_bits a, lane_bits b) { return select(a < b, a, b); }
};

struct lanes;
HS_HOST_INLINE lanes real_of(lane_bits a);
HS_HOST_INLINE lanes to_real(lane_bits a);

/// Floats, one a lane. A float converts to all lanes alike.
struct lanes {
    static constexpr int width = lane_count;
    float_vector v;

    lanes() = default;
    HS_HOST_INLINE lanes(float_vector x) : v(x) {}
    HS_HOST_INLINE lanes(float x) : v(x - float_vector{}) {}

    friend HS_HOST_INLINE lanes operator+(lanes a, lanes b) { return a.v + b.v; }
    friend HS_HOST_INLINE lanes operator-(lanes a, lanes b) { return a.v - b.v; }
    friend HS_HOST_INLINE lanes operator*(lanes a, lanes b) { return a.v * b.v; }
    friend HS_HOST_INLINE lanes operator/(lanes a, lanes b) { return a.v / b.v; }
    friend HS_HOST_INLINE lanes operator-(lanes a) { return -a.v; }
    friend HS_HOST_INLINE lane_mask operator<(lanes a, lanes b) { return {a.v < b.v}; }
    friend HS_HOST_INLINE lane_mask operator>(lanes a, lanes b) { return {a.v > b.v}; }
    friend HS_HOST_INLINE lane_mask operator<=(lanes a, lanes b) { return {a.v <= b.v}; }
    friend HS_HOST_INLINE lane_mask operator>=(lanes a, lanes b) { return {a.v >= b.v}; }
    friend HS_HOST_INLINE lane_mask operator==(lanes a, lanes b) { return {a.v == b.v}; }
    friend HS_HOST_INLINE lane_mask operator!=(lanes a, lanes b) { return {a.v != b.v}; }

    friend HS_HOST_INLINE lane_bits bits_of(lanes a) { return (unsigned_vector)a.v; }
    friend HS_HOST_INLINE lane_bits truncate_to_bits(lanes a) {
        return (unsigned_vector) __builtin_convertvector(a.v, int_vector);
    }
    friend HS_HOST_INLINE lanes select(lane_mask m, lanes yes, lanes no) { return m.v ? yes.v : no.v; }
    friend HS_HOST_INLINE lanes lesser(lanes a, lanes b) {
#if defined(HS_LANES_AVX512)
        return _mm512_maskz_min_ps(every_lane, a.v, b.v);
#elif defined(HS_LANES_AVX2)
        return instructions::min(a.v, b.v);
#else
        return select(a < b, a, b);
#endif
    }
    friend HS_HOST_INLINE lanes greater(lanes a, lanes b) {
#if defined(HS_LANES_AVX512)
        return _mm512_maskz_max_ps(every_lane, a.v, b.v);
#elif defined(HS_LANES_AVX2)
        return instructions::max(a.v, b.v);
#else
        return select(a > b, a, b);
#endif
    }
    friend HS_HOST_INLINE lanes abs(lanes a) { return real_of(bits_of(a) & lane_bits(0x7FFFFFFFu)); }
    friend HS_HOST_INLINE lane_mask is_nonfinite(lanes a) {
        return (bits_of(a) & lane_bits(0x7F800000u)) == lane_bits(0x7F800000u);
    }
    friend HS_HOST_INLINE lanes fma(lanes a, lanes b, lanes c) {
#if defined(HS_LANES_AVX512)
        return _mm512_fmadd_ps(a.v, b.v, c.v);
#elif defined(HS_LANES_AVX2)
        return instructions::fma(a.v, b.v, c.v);
#else
        lanes r;
        for (int i = 0; i < width; ++i) r.v[i] = halfstep::fma(a.v[i], b.v[i], c.v[i]);
        return r;
#endif
    }
    friend HS_HOST_INLINE lanes sqrt(lanes a) {
#if defined(HS_LANES_AVX512)
        return _mm512_maskz_sqrt_ps(every_lane, a.v);
#elif defined(HS_LANES_AVX2)
        return instructions::sqrt(a.v);
#elif defined(__SSE2__)
        return _mm_sqrt_ps(a.v);
#else
        lanes r;
        for (int i = 0; i < width; ++i) r.v[i] = halfstep::sqrt(a.v[i]);
        return r;
#endif
    }
};

HS_HOST_INLINE lanes real_of(lane_bits a) { return (float_vector)a.v; }
HS_HOST_INLINE lanes to_real(lane_bits a) { return __builtin_convertvector((int_vector)a.v, float_vector); }

/// True when any lane is.
HS_HOST_INLINE bool any(lane_mask m) {
#if defined(HS_LANES_AVX512)
    return _mm512_movepi32_mask((__m512i)m.v) != 0;
#elif defined(HS_LANES_AVX2)
    return instructions::signs((float_vector)m.v) != 0;
#else
    std::int32_t seen = 0;
    for (int i = 0; i < lane_count; ++i) seen |= m.v[i];
    return seen != 0;
#endif
}

/// `counts` with one more where `m` is true. (Or-ing masks in a loop instead makes clang keep them as single bits and
/// convert them each time.)
HS_HOST_INLINE lane_bits count_in(lane_bits counts, lane_mask m) { return counts.v - (unsigned_vector)m.v; }

/// 0, 1, 2, … a lane.
HS_HOST_INLINE lane_bits lane_numbers() {
    lane_bits r;
    for (int i = 0; i < lane_count; ++i) r.v[i] = static_cast<std::uint32_t>(i);
    return r;
}

/// The first `n` lanes.
HS_HOST_INLINE lane_mask first_lanes(int n) { return lane_numbers() < lane_bits(static_cast<std::uint32_t>(n)); }

// Spelled out by size: nvcc's front end does not convert vectors whose size depends on a template parameter.
template <std::size_t Bytes>
struct integer_vector;
template <>
struct integer_vector<1> {
    typedef std::uint8_t type __attribute__((vector_size(lane_count)));
};
template <>
struct integer_vector<2> {
    typedef std::uint16_t type __attribute__((vector_size(2 * lane_count)));
};

/// `lane_count` elements of whatever a storage or state rule keeps, as they stand in memory; such a rule runs lane by
/// lane.
template <class T>
struct packed_lanes {
    T v[lane_count];
};
/// The same of a narrow type of ours.
template <narrow_type T>
struct packed_lanes<T> {
    using bits_type = typename T::bits_type;
    using register_type = typename integer_vector<sizeof(bits_type)>::type;
    register_type v;

    /// Bit patterns, zero-extended.
    HS_HOST_INLINE lane_bits extend() const {
#if defined(HS_LANES_AVX512)
        if constexpr (sizeof(T) == 2)
            return (unsigned_vector)_mm512_maskz_cvtepu16_epi32(every_lane, (__m256i)v);
        else
            return (unsigned_vector)_mm512_maskz_cvtepu8_epi32(every_lane, (__m128i)v);
#elif defined(HS_LANES_AVX2)
        if constexpr (sizeof(T) == 2)
            return (unsigned_vector)instructions::extend((instructions::halves)v);
        else
            return (unsigned_vector)instructions::extend((instructions::bytes)_mm_cvtsi64_si128((long long)v));
#else
        lane_bits r;
        for (int i = 0; i < lane_count; ++i) r.v[i] = v[i];
        return r;
#endif
    }
    /// The low bits of each lane.
    static HS_HOST_INLINE packed_lanes from(lane_bits x) {
#if defined(HS_LANES_AVX512)
        if constexpr (sizeof(T) == 2)
            return {(register_type)_mm512_maskz_cvtepi32_epi16(every_lane, (__m512i)x.v)};
        else
            return {(register_type)_mm512_maskz_cvtepi32_epi8(every_lane, (__m512i)x.v)};
#elif defined(HS_LANES_AVX2)
        const auto words = (__m128i)instructions::pack((int_vector)x.v);
        if constexpr (sizeof(T) == 2)
            return {(register_type)words};
        else
            return {(register_type)_mm_cvtsi128_si64(_mm_packus_epi16(words, words))};
#else
        packed_lanes r;
        for (int i = 0; i < lane_count; ++i) r.v[i] = static_cast<bits_type>(x.v[i]);
        return r;
#endif
    }

    friend HS_HOST_INLINE lanes widen(packed_lanes x) {
#if defined(HS_LANES_AVX512)
        if constexpr (std::is_same_v<T, fp16>) return _mm512_maskz_cvtph_ps(every_lane, (__m256i)x.v);
#elif defined(HS_LANES_AVX2)
        if constexpr (std::is_same_v<T, fp16>) return instructions::widen((instructions::halves)x.v);
#endif
        return real_of(widen_bits<typename T::format>(x.extend()));
    }
    friend HS_HOST_INLINE void round_into(packed_lanes& out, lanes x) {
#if defined(HS_LANES_AVX512)
        if constexpr (std::is_same_v<T, fp16>) {
            out.v =
                (register_type)_mm512_maskz_cvtps_ph(every_lane, x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
            return;
        }
#elif defined(HS_LANES_AVX2)
        if constexpr (std::is_same_v<T, fp16>) {
            out.v = (register_type)instructions::narrow(x.v);
            return;
        }
#endif
        out = from(narrow_bits<typename T::format>(bits_of(x)));
    }
    friend HS_HOST_INLINE void stochastic_round_into(packed_lanes& out, lanes x, lane_bits random) {
        out = from(stochastic_narrow_bits<typename T::format>(bits_of(x), random));
    }
};

/// Bit patterns of a narrow type as they stand in memory, as many as a register holds: for a detector that looks at
/// bits alone.
template <std::size_t Bytes>
struct packed_bits;
template <>
struct packed_bits<1> {
    typedef std::uint8_t vector __attribute__((vector_size(4 * lane_count)));
    typedef std::int8_t truth __attribute__((vector_size(4 * lane_count)));
    using element = std::uint8_t;
#define HS_PACKED_BITS_OPERATORS                                                                            \
    static constexpr int width = static_cast<int>(sizeof(vector) / sizeof(element));                        \
    struct mask {                                                                                           \
        truth v;                                                                                            \
        friend HS_HOST_INLINE mask operator&(mask a, mask b) { return {a.v & b.v}; }                        \
        friend HS_HOST_INLINE mask operator|(mask a, mask b) { return {a.v | b.v}; }                        \
        friend HS_HOST_INLINE mask operator!(mask a) { return {~a.v}; }                                     \
        friend HS_HOST_INLINE mask operator&&(mask a, mask b) { return a & b; }                             \
        friend HS_HOST_INLINE mask operator||(mask a, mask b) { return a | b; }                             \
    };                                                                                                      \
    vector v;                                                                                               \
    packed_bits() = default;                                                                                \
    HS_HOST_INLINE packed_bits(vector x) : v(x) {}                                                          \
    HS_HOST_INLINE explicit packed_bits(std::uint32_t x) : v(static_cast<element>(x) - vector{}) {}         \
    friend HS_HOST_INLINE packed_bits operator+(packed_bits a, packed_bits b) { return vector(a.v + b.v); } \
    friend HS_HOST_INLINE packed_bits operator-(packed_bits a, packed_bits b) { return vector(a.v - b.v); } \
    friend HS_HOST_INLINE packed_bits operator&(packed_bits a, packed_bits b) { return vector(a.v & b.v); } \
    friend HS_HOST_INLINE packed_bits operator|(packed_bits a, packed_bits b) { return vector(a.v | b.v); } \
    friend HS_HOST_INLINE packed_bits operator^(packed_bits a, packed_bits b) { return vector(a.v ^ b.v); } \
    friend HS_HOST_INLINE mask operator==(packed_bits a, packed_bits b) { return {truth(a.v == b.v)}; }     \
    friend HS_HOST_INLINE mask operator!=(packed_bits a, packed_bits b) { return {truth(a.v != b.v)}; }     \
    friend HS_HOST_INLINE mask operator<(packed_bits a, packed_bits b) { return {truth(a.v < b.v)}; }       \
    friend HS_HOST_INLINE mask operator>(packed_bits a, packed_bits b) { return {truth(a.v > b.v)}; }       \
    friend HS_HOST_INLINE mask operator<=(packed_bits a, packed_bits b) { return {truth(a.v <= b.v)}; }     \
    friend HS_HOST_INLINE mask operator>=(packed_bits a, packed_bits b) { return {truth(a.v >= b.v)}; }
    HS_PACKED_BITS_OPERATORS
};
template <>
struct packed_bits<2> {
    typedef std::uint16_t vector __attribute__((vector_size(4 * lane_count)));
    typedef std::int16_t truth __attribute__((vector_size(4 * lane_count)));
    using element = std::uint16_t;
    HS_PACKED_BITS_OPERATORS
};
#undef HS_PACKED_BITS_OPERATORS

HS_HOST_INLINE lanes widen(lanes x) { return x; }
HS_HOST_INLINE void round_into(lanes& out, lanes x) { out = x; }

/// `lane_count` elements of a type that is none of ours, such as a state rule's own. Its policy handles them one by
/// one.
template <class T>
struct element_lanes {
    T element[lane_count];
};

// Loads and stores go through memcpy or intrinsics: storage may be a foreign type seen through a view.

template <class T>
HS_HOST_INLINE packed_lanes<T> load_lanes(T const* from) {
    packed_lanes<T> r;
    std::memcpy(&r.v, from, sizeof r.v);
    return r;
}
HS_HOST_INLINE lanes load_lanes(float const* from) {
    lanes r;
    std::memcpy(&r.v, from, sizeof r.v);
    return r;
}
template <class T>
    requires(!storage_type<T>)
HS_HOST_INLINE element_lanes<T> load_lanes(T const* from) {
    element_lanes<T> r;
    std::memcpy(static_cast<void*>(r.element), from, sizeof r.element);
    return r;
}
template <class T>
HS_HOST_INLINE void store_lanes(T* to, packed_lanes<T> x) {
    std::memcpy(static_cast<void*>(to), &x.v, sizeof x.v);
}
HS_HOST_INLINE void store_lanes(float* to, lanes x) { std::memcpy(to, &x.v, sizeof x.v); }
template <class T>
HS_HOST_INLINE void store_lanes(T* to, element_lanes<T> const& x) {
    std::memcpy(static_cast<void*>(to), x.element, sizeof x.element);
}

/// How many lanes the next pack of `elements` fills.
inline int lanes_left(std::int64_t elements) { return elements < lane_count ? static_cast<int>(elements) : lane_count; }

#if !defined(HS_LANES_AVX512)
/// The first `n` < lane_count elements, one by one. Calls: a copy of these loops for every stream of every composition
/// takes long to compile.
template <class T>
HS_COLD auto load_some(T const* from, int n) {
    T whole[lane_count] = {};
    for (int i = 0; i < n; ++i) std::memcpy(&whole[i], from + i, sizeof(T));
    return load_lanes(static_cast<T const*>(whole));
}
template <class T, class Packed>
HS_COLD void store_some(T* to, Packed const& x, int n) {
    T whole[lane_count];
    store_lanes(static_cast<T*>(whole), x);
    for (int i = 0; i < n; ++i) std::memcpy(static_cast<void*>(to + i), &whole[i], sizeof(T));
}
#endif

/// The first `n` <= lane_count elements, the others zero.
template <class T>
HS_HOST_INLINE auto load_lanes(T const* from, int n) {
    [[maybe_unused]] const unsigned mask = (1u << n) - 1;
#if defined(HS_LANES_AVX512)
    if constexpr (sizeof(T) == 4)
        return lanes{_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from)};
    else if constexpr (sizeof(T) == 2)
        return packed_lanes<T>{
            (typename packed_lanes<T>::register_type)_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), from)};
    else
        return packed_lanes<T>{
            (typename packed_lanes<T>::register_type)_mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), from)};
#else
#if defined(HS_LANES_AVX2)
    if constexpr (std::is_same_v<T, float>)
        return lanes{instructions::load(from, first_lanes(n).v)};
    else
#endif
        return n == lane_count ? load_lanes(from) : load_some(from, n);
#endif
}
/// Writes the first `n` <= lane_count elements and nothing else.
template <class T, class Packed>
HS_HOST_INLINE void store_lanes(T* to, Packed x, int n) {
    [[maybe_unused]] const unsigned mask = (1u << n) - 1;
#if defined(HS_LANES_AVX512)
    if constexpr (sizeof(T) == 4)
        _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), x.v);
    else if constexpr (sizeof(T) == 2)
        _mm256_mask_storeu_epi16(to, static_cast<__mmask16>(mask), (__m256i)x.v);
    else
        _mm_mask_storeu_epi8(to, static_cast<__mmask16>(mask), (__m128i)x.v);
#else
#if defined(HS_LANES_AVX2)
    if constexpr (std::is_same_v<T, float>)
        instructions::store(to, first_lanes(n).v, x.v);
    else
#endif
        n == lane_count ? store_lanes(to, x) : store_some(to, x, n);
#endif
}
template <class T>
HS_HOST_INLINE void store_lanes(T* to, element_lanes<T> const& x, int n) {
    for (int i = 0; i < n; ++i) std::memcpy(static_cast<void*>(to + i), &x.element[i], sizeof(T));
}

}  // namespace halfstep::host::inline HS_INSTRUCTION_SET

namespace halfstep {
template <class T>
struct packed<T, host::lanes> {
    using type = host::element_lanes<T>;
};
template <class Format>
struct packed<detail::minifloat<Format>, host::lanes> {
    using type = host::packed_lanes<detail::minifloat<Format>>;
};
template <>
struct packed<float, host::lanes> {
    using type = host::lanes;
};
template <>
struct packed<no_companion, host::lanes> {
    using type = no_companion;
};
}  // namespace halfstep
