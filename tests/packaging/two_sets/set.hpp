// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <halfstep/core/report.hpp>
#include <halfstep/core/slots.hpp>

/// What three steps of one instruction set leave behind, and the bytes of the pack that they were computed in.
struct set_result {
    std::uint64_t bits;
    std::size_t pack;
    std::size_t own_pack;  ///< of the set that the file was compiled for
};
set_result portable_set();
set_result wide_set();

/// A clipping that changes nothing and remembers what it was called with. One type in both files: what is instantiated
/// with it is one function to the linker, unless the instruction set is in its name.
inline std::size_t pack_seen = 0;
struct pack_witness {
    using slot = halfstep::gradient_clipping_slot;
    constexpr double factor(halfstep::gradient_norms const&) const { return 1; }
    template <class Real>
    constexpr Real clip(Real gradient) const {
        if (sizeof(Real) > pack_seen) pack_seen = sizeof(Real);
        return gradient;
    }
};
