// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <halfstep/concepts/communicator.hpp>

namespace halfstep {

/// One rank alone. The default; nothing of it remains in the step.
struct self {
    using slot = communicator_slot;
    static constexpr bool alone = true;

    static constexpr int rank() { return 0; }
    static constexpr int size() { return 1; }
    static constexpr void all_reduce(std::span<double>, reduction) {}
    template <class T>
    static constexpr void all_reduce_mean(std::span<T>) {}
    template <class T>
    static constexpr void broadcast(std::span<T>, int) {}
};
static_assert(communicator<self>);

}  // namespace halfstep
