// SPDX-License-Identifier: Apache-2.0
/// The concept of an overflow detector.
#pragma once

#include <concepts>
#include <cstdint>

#include <halfstep/core/dtype.hpp>
#include <halfstep/core/member_name.hpp>
#include <halfstep/core/report.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

namespace overflow_detection_needs {
template <class P>
concept a_verdict = requires(P const p, gradient_report const r) {
    { p.overflowed(r) } -> std::same_as<bool>;
};
template <class P>
concept callable_flags = requires(P const p, float g) {
    { p.flags(g) } -> std::same_as<bool>;
};
template <class P, class T>
concept callable_flags_bits = requires(P const p, std::uint32_t bits) {
    { p.template flags_bits<T>(bits) } -> std::same_as<bool>;
};
template <class P>
concept flags_if_it_says_so = !member_name::flags<P> || callable_flags<P>;
template <class P, class T>
concept flags_bits_if_it_says_so = !member_name::flags_bits<P> || callable_flags_bits<P, T>;
}  // namespace overflow_detection_needs

/// Decides from a report whether a group's gradients overflowed. One that looks at elements has one of two hooks as
/// well: `flags(Real gradient)`, which sees values as stored (scaled), or `flags_bits<T>(Bits bits)`, which sees the
/// bit patterns of a storage type `T`; both give a bool, or a mask of lanes where they are templates, and set
/// `report.flagged`.
///
/// Optional: `static constexpr gradient_statistics needs`; `static constexpr bool detects = false` for one that never
/// finds anything; `template <class T> static constexpr bool sees` false for a dtype in which it cannot see overflow.
/// Law: a report of gradients that hold a NaN or an infinity, wherever it stands, is overflowed (unless `detects` is
/// false).
template <class P>
concept overflow_detection = fills<P, overflow_detection_slot> && overflow_detection_needs::a_verdict<P> &&
                             overflow_detection_needs::flags_if_it_says_so<P>;

/// Sees every gradient as a value.
template <class P>
concept value_detection = overflow_detection<P> && overflow_detection_needs::callable_flags<P>;
/// Sees every gradient as a bit pattern of `T`.
template <class P, class T>
concept bit_detection = overflow_detection<P> && overflow_detection_needs::callable_flags_bits<P, T>;

/// False for a detector that never finds anything.
template <class P>
inline constexpr bool detects_overflow = [] {
    if constexpr (requires { P::detects; })
        return static_cast<bool>(P::detects);
    else
        return true;
}();
/// False where `P` cannot see an overflow in gradients of type `T`.
template <class P, class T>
inline constexpr bool sees_overflow_in = [] {
    if constexpr (requires { P::template sees<T>; })
        return static_cast<bool>(P::template sees<T>);
    else
        return true;
}();
/// The statistics that a detector or a clipping asks for.
template <class P>
inline constexpr gradient_statistics needed_statistics = [] {
    if constexpr (requires { P::needs; })
        return gradient_statistics{P::needs};
    else
        return gradient_statistics{};
}();

/// True when an inspection of gradients of type `T` looks at elements at all.
template <class T, class Detection, gradient_statistics Wanted>
inline constexpr bool inspects_elements =
    value_detection<Detection> || bit_detection<Detection, T> || Wanted.sum_of_squares || Wanted.largest_magnitude;

namespace archetype {
struct overflow_detection {
    using slot = overflow_detection_slot;
    constexpr bool overflowed(gradient_report const& r) const { return r.flagged; }
};
}  // namespace archetype
static_assert(overflow_detection<archetype::overflow_detection>);

namespace diagnose {
template <class P>
consteval auto an_overflow_detection() {
    namespace needs = overflow_detection_needs;
    if constexpr (!needs::a_verdict<P>)
        static_assert(needs::a_verdict<P>,
                      "halfstep: this overflow detection lacks 'bool overflowed(gradient_report const&) const'");
    else
        static_assert(
            needs::flags_if_it_says_so<P>,
            "halfstep: this overflow detection's 'flags' cannot be called as 'bool flags(float gradient) const'");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
