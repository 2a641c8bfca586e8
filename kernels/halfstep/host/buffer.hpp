// SPDX-License-Identifier: Apache-2.0
/// Zeroed host memory, aligned for lanes; large buffers ask for huge pages.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <halfstep/core/config.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace halfstep::host {

class buffer {
  public:
    buffer() = default;
    /// Throws std::bad_alloc.
    HS_NOINLINE explicit buffer(std::size_t bytes) {
        if (bytes == 0) return;
        const bool large = bytes >= huge_page;
        const std::size_t alignment = large ? huge_page : 64;
        if (bytes > static_cast<std::size_t>(-1) - alignment) throw std::bad_alloc();
        const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
        memory_ = static_cast<std::byte*>(std::aligned_alloc(alignment, whole));
        if (!memory_) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (large) madvise(memory_, whole, MADV_HUGEPAGE);  // a wish; without it the step is only a little slower
#endif
        std::memset(memory_, 0, whole);
    }
    buffer(buffer&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
    buffer& operator=(buffer&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~buffer() { std::free(memory_); }

    std::byte* data() const { return memory_; }

  private:
    static constexpr std::size_t huge_page = std::size_t{2} << 20;
    std::byte* memory_ = nullptr;
};

}  // namespace halfstep::host
