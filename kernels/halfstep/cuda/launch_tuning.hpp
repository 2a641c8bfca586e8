// SPDX-License-Identifier: Apache-2.0
/// What changes the speed of a launch and nothing else. Chosen by compute capability, as CUB chooses its policies.
#pragma once

namespace halfstep {

/// The shape of a tile on a device: how many threads share a segment of an update.
struct launch_tuning {
    static constexpr int most_threads = 512;
    int update_threads = 256;  ///< a multiple of 32, at most `most_threads`
    friend bool operator==(launch_tuning, launch_tuning) = default;
};

/// The tuning for compute capability `capability`, 10 times major plus minor.
///
/// A segment is 1,024 accesses of 16 bytes an array: four a thread keep enough loads in flight where memory is HBM2e or
/// HBM3, two a thread where it is HBM3e (sm_100). Derived from latency times bandwidth, not measured; tests/device.sh
/// measures.
constexpr launch_tuning tuning_for(int capability) {
    if (capability >= 100) return {.update_threads = 512};
    return {.update_threads = 256};
}

}  // namespace halfstep
