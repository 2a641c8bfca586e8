// SPDX-License-Identifier: Apache-2.0
/// Whole ranges between storage types and float, with the lanes of the loops.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

#include <halfstep/host/lanes.hpp>

namespace halfstep::inline HS_INSTRUCTION_SET {

/// `out[i] = float(in[i])`. Exact. Throws std::invalid_argument when the sizes differ.
template <storage_type T>
void widen(std::span<T const> in, std::span<float> out) {
    if (in.size() != out.size()) throw std::invalid_argument("halfstep: widen: the ranges have different sizes");
    std::size_t i = 0;
    for (; i + host::lane_count <= in.size(); i += host::lane_count)
        host::store_lanes(out.data() + i, widen(host::load_lanes(in.data() + i)));
    for (; i < in.size(); ++i) out[i] = halfstep::widen(in[i]);
}

/// `out[i] = T(in[i])`, rounded to nearest even. Throws std::invalid_argument when the sizes differ.
template <storage_type T>
void narrow(std::span<float const> in, std::span<T> out) {
    if (in.size() != out.size()) throw std::invalid_argument("halfstep: narrow: the ranges have different sizes");
    std::size_t i = 0;
    for (; i + host::lane_count <= in.size(); i += host::lane_count) {
        packed_t<T, host::lanes> packed;
        round_into(packed, host::load_lanes(in.data() + i));
        host::store_lanes(out.data() + i, packed);
    }
    for (; i < in.size(); ++i) out[i] = halfstep::narrow<T>(in[i]);
}

}  // namespace halfstep::inline HS_INSTRUCTION_SET
