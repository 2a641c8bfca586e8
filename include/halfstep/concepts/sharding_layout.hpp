// SPDX-License-Identifier: Apache-2.0
/// The concept of a sharding layout: which rank updates what, and what travels.
#pragma once

#include <concepts>
#include <cstdint>

#include <halfstep/core/slots.hpp>

namespace halfstep {

/// A half-open range of a group's flat index space, all its tensors one after another.
struct flat_range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    friend bool operator==(flat_range, flat_range) = default;

    constexpr bool empty() const { return begin >= end; }
    /// What `a` and `b` share; where they share nothing, an empty range.
    friend constexpr flat_range overlap(flat_range a, flat_range b) {
        const std::int64_t begin = a.begin > b.begin ? a.begin : b.begin;
        const std::int64_t end = a.end < b.end ? a.end : b.end;
        return {begin, end < begin ? begin : end};
    }
};

/// What a layout does to the gradients before, and to the parameters after an update.
enum class gradient_collective { none, all_reduce };
enum class parameter_collective { none, broadcast_owned };

namespace sharding_layout_needs {
template <class P>
concept collectives = requires {
    { P::gradients } -> std::convertible_to<gradient_collective>;
    { P::parameters } -> std::convertible_to<parameter_collective>;
};
template <class P>
concept an_owner = requires(P const p, std::int64_t elements, int rank) {
    { p.owned(elements, rank, rank) } -> std::same_as<flat_range>;
};
template <class P>
concept whether_it_cuts = requires {
    { P::cuts_tensors } -> std::convertible_to<bool>;
};
}  // namespace sharding_layout_needs

/// `owned(elements, rank, world_size)` is the range of a group that a rank updates and keeps state for.
///
/// Laws: the ranges of all ranks cover the group; where they overlap, every rank there computes the same bits. A layout
/// whose ranges are disjoint has `parameters` other than none; one whose ranges do not end at tensors `cuts_tensors`.
template <class P>
concept sharding_layout = fills<P, sharding_slot> && sharding_layout_needs::collectives<P> &&
                          sharding_layout_needs::an_owner<P> && sharding_layout_needs::whether_it_cuts<P>;

namespace archetype {
struct sharding_layout {
    using slot = sharding_slot;
    static constexpr gradient_collective gradients = gradient_collective::none;
    static constexpr parameter_collective parameters = parameter_collective::none;
    static constexpr bool cuts_tensors = false;
    constexpr flat_range owned(std::int64_t elements, int, int) const { return {0, elements}; }
};
}  // namespace archetype
static_assert(sharding_layout<archetype::sharding_layout>);

namespace diagnose {
template <class P>
consteval auto a_sharding_layout() {
    namespace needs = sharding_layout_needs;
    if constexpr (!needs::collectives<P>)
        static_assert(
            needs::collectives<P>,
            "halfstep: this sharding layout lacks 'static constexpr gradient_collective gradients' and 'static "
            "constexpr parameter_collective parameters'");
    else if constexpr (!needs::an_owner<P>)
        static_assert(needs::an_owner<P>,
                      "halfstep: this sharding layout lacks 'flat_range owned(std::int64_t elements, int rank, int "
                      "world_size) const'");
    else
        static_assert(needs::whether_it_cuts<P>,
                      "halfstep: this sharding layout lacks 'static constexpr bool cuts_tensors'");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
