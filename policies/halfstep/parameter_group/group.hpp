// SPDX-License-Identifier: Apache-2.0
/// Parameter groups, trained and frozen.
#pragma once

#include <stdexcept>

#include <halfstep/core/dtype.hpp>
#include <halfstep/core/math.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

/// The tag of the one group in the short form `recipe<fp16{}, adamw{}>`.
struct everything {};

/// Parameters of type `T` whose gradients arrive as `Gradient`, named by `Tag` (any type, it may be incomplete).
template <class Tag, class T, class Gradient = T>
struct group {
    using slot = parameter_group_slot;
    using tag = Tag;
    using type = T;
    using gradient_type = Gradient;
    static constexpr bool trains = true;

    float lr_factor = 1;            ///< multiplies the step's learning rate; finite, >= 0
    float weight_decay_factor = 1;  ///< multiplies the rule's weight decay; finite, >= 0

    constexpr void validate() const {
        if (!(lr_factor >= 0) || is_nonfinite(lr_factor))
            throw std::invalid_argument("halfstep: group.lr_factor must be finite and not negative");
        if (!(weight_decay_factor >= 0) || is_nonfinite(weight_decay_factor))
            throw std::invalid_argument("halfstep: group.weight_decay_factor must be finite and not negative");
    }
};

/// Parameters that are bound, counted and saved, and never read or written by a step: no gradient, no state.
template <class Tag, class T>
struct frozen {
    using slot = parameter_group_slot;
    using tag = Tag;
    using type = T;
    using gradient_type = T;
    static constexpr bool trains = false;
    float lr_factor = 0;            ///< of no effect
    float weight_decay_factor = 0;  ///< of no effect
};

}  // namespace halfstep
