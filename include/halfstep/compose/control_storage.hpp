// SPDX-License-Identifier: Apache-2.0
/// The control block in the backend's memory, and what the host knows of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include <halfstep/core/report.hpp>

namespace halfstep {

/// Host memory: the block itself is what the host sees.
template <class ControlBlock, class Backend, bool Records>
class control_storage {
  public:
    control_storage(Backend const& backend, ControlBlock const& first)
        : memory_(backend.allocate(sizeof(ControlBlock))), block_(new(memory_.data()) ControlBlock(first)) {}

    ControlBlock* memory() const { return block_; }
    step_record* ring() const { return nullptr; }
    ControlBlock const& seen() const { return *block_; }
    template <class Recorder>
    bool read_back(Backend const&, Recorder&) {
        return false;
    }

  private:
    typename Backend::buffer memory_;
    ControlBlock* block_;
};

/// Device memory: the host sees a copy, as old as the last `read_back`; records wait in a ring.
template <class ControlBlock, class Backend, bool Records>
    requires Backend::device_memory
class control_storage<ControlBlock, Backend, Records> {
    static_assert(std::is_trivially_copyable_v<ControlBlock>);

  public:
    control_storage(Backend const& backend, ControlBlock const& first)
        : memory_(backend.allocate(sizeof(ControlBlock))),
          ring_memory_(backend.allocate(Records ? record_ring_size * sizeof(step_record) : 0)),
          seen_(first) {
        backend.write(memory_.data(), reinterpret_cast<std::byte const*>(&first), sizeof first);
    }

    ControlBlock* memory() const { return reinterpret_cast<ControlBlock*>(memory_.data()); }
    step_record* ring() const { return Records ? reinterpret_cast<step_record*>(ring_memory_.data()) : nullptr; }
    ControlBlock const& seen() const { return seen_; }
    /// Waits for the steps that were launched, and hands their records on: all of them, or the latest
    /// `record_ring_size`. True when there were any.
    template <class Recorder>
    bool read_back(Backend const& backend, Recorder& recorder) {
        const std::int64_t before = seen_.steps;
        backend.read(reinterpret_cast<std::byte*>(&seen_), memory_.data(), sizeof seen_);
        if constexpr (Records) {
            std::vector<step_record> ring(record_ring_size);
            backend.read(reinterpret_cast<std::byte*>(ring.data()), ring_memory_.data(),
                         ring.size() * sizeof(step_record));
            const std::int64_t oldest = seen_.steps - record_ring_size;
            for (std::int64_t s = (before > oldest ? before : oldest) + 1; s <= seen_.steps; ++s)
                recorder.record(ring[static_cast<std::size_t>(s % record_ring_size)]);
        }
        return seen_.steps != before;
    }

  private:
    typename Backend::buffer memory_, ring_memory_;
    ControlBlock seen_;
};

}  // namespace halfstep
