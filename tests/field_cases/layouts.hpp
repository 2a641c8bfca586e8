// SPDX-License-Identifier: Apache-2.0
/// Sharding layouts written outside of the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <halfstep/concepts/sharding_layout.hpp>

namespace layouts {

using halfstep::flat_range;
using halfstep::gradient_collective;
using halfstep::parameter_collective;

/// Equal shares of the flat index space; the first ranks take one more where it does not divide.
struct flat_split {
    using slot = halfstep::sharding_slot;
    static constexpr gradient_collective gradients = gradient_collective::all_reduce;
    static constexpr parameter_collective parameters = parameter_collective::broadcast_owned;
    static constexpr bool cuts_tensors = true;

    constexpr flat_range owned(std::int64_t elements, int rank, int size) const {
        const std::int64_t each = elements / size, rest = elements % size;
        const std::int64_t begin = rank * each + std::min<std::int64_t>(rank, rest);
        return {begin, begin + each + (rank < rest ? 1 : 0)};
    }
};

/// Shards of a fixed size; what is left over is padding that nobody keeps.
struct fixed_shards {
    using slot = halfstep::sharding_slot;
    static constexpr gradient_collective gradients = gradient_collective::all_reduce;
    static constexpr parameter_collective parameters = parameter_collective::broadcast_owned;
    static constexpr bool cuts_tensors = true;
    std::int64_t shard = 4;

    constexpr flat_range owned(std::int64_t elements, int rank, int) const {
        return {std::min(rank * shard, elements), std::min((rank + 1) * shard, elements)};
    }
};

/// Each rank steps the parameters that it was given, with the gradients that it has: the stages of a pipeline.
struct own_parameters {
    using slot = halfstep::sharding_slot;
    static constexpr gradient_collective gradients = gradient_collective::none;
    static constexpr parameter_collective parameters = parameter_collective::none;
    static constexpr bool cuts_tensors = false;

    constexpr flat_range owned(std::int64_t elements, int, int) const { return {0, elements}; }
};

/// A parameter that every rank has a copy of: the first one counts, updates and hands it to the others.
struct first_copy_counts {
    using slot = halfstep::sharding_slot;
    static constexpr gradient_collective gradients = gradient_collective::none;
    static constexpr parameter_collective parameters = parameter_collective::broadcast_owned;
    static constexpr bool cuts_tensors = false;

    constexpr flat_range owned(std::int64_t elements, int rank, int) const {
        return rank == 0 ? flat_range{0, elements} : flat_range{elements, elements};
    }
};

static_assert(halfstep::sharding_layout<flat_split> && halfstep::sharding_layout<fixed_shards>);
static_assert(halfstep::sharding_layout<own_parameters> && halfstep::sharding_layout<first_copy_counts>);

}  // namespace layouts
