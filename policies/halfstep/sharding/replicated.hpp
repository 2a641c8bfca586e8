// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/sharding_layout.hpp>
#include <halfstep/core/config.hpp>

namespace halfstep {

/// Every rank keeps everything and makes the same step: gradients are averaged over the ranks first. The default.
struct replicated {
    using slot = sharding_slot;
    static constexpr gradient_collective gradients = gradient_collective::all_reduce;
    static constexpr parameter_collective parameters = parameter_collective::none;
    static constexpr bool cuts_tensors = false;

    constexpr flat_range owned(std::int64_t elements, int, int) const { return {0, elements}; }
};
static_assert(sharding_layout<replicated>);

}  // namespace halfstep
