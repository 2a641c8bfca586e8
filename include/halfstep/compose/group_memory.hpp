// SPDX-License-Identifier: Apache-2.0
/// The memory behind one group, without its types, so that a file compiles it once a backend and not once a
/// composition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <halfstep/compose/group_tensors.hpp>
#include <halfstep/concepts/sharding_layout.hpp>
#include <halfstep/core/config.hpp>
#include <halfstep/core/layout.hpp>

namespace halfstep {

/// Bytes of one element of each kind; 0 for what a group does not keep.
struct element_sizes {
    std::size_t parameter, gradient, moments, companion;
};

template <class Backend>
class group_memory {
  public:
    // Each composition's bind would have a copy of these.
    HS_NOINLINE group_memory() = default;
    HS_NOINLINE group_memory(group_memory&&) noexcept = default;
    HS_NOINLINE group_memory& operator=(group_memory&&) noexcept = default;
    HS_NOINLINE ~group_memory() = default;

    /// Takes memory for the slices of the tensors that this rank owns. Throws std::bad_alloc.
    HS_NOINLINE group_memory(group_tensors&& tensors, flat_range owned, std::int64_t applied_steps, element_sizes sizes,
                             Backend const& backend)
        : sizes_(sizes), tensors_(std::move(tensors)), slices_(tensors_.slices(owned)) {
        for (tensor_slice const& slice : slices_) {
            segments_ += segments_of(slice.size);
            elements_ += slice.size;
            padded_ += group_tensors::padded(slice.size);
        }
        const auto row_count = static_cast<std::int64_t>(slices_.size());
        rows_ = take(backend, row_count, sizeof(tensor_row));
        missed_ = take(backend, row_count, sizeof(std::int64_t));
        partials_ = take(backend, segments_, sizeof(segment_partial));
        moments_ = take(backend, padded_, sizes.moments);
        if (sizes.companion != 0) companions_ = take(backend, padded_, sizes.companion);
        write_rows(backend);
        write(backend, missed_, std::vector<std::int64_t>(slices_.size(), applied_steps));
    }

    group_tensors const& tensors() const { return tensors_; }
    std::vector<tensor_slice> const& slices() const { return slices_; }

    /// Throws std::invalid_argument and changes nothing when the new ones do not match.
    void set_gradients(std::vector<bound_tensor> gradients, Backend const& backend) {
        tensors_.set_gradients(std::move(gradients), backend);
        write_rows(backend);
    }

    template <class Layout>
    group_table<Layout> table(std::uint32_t ordinal) const {
        group_table<Layout> t;
        t.rows = reinterpret_cast<tensor_row const*>(rows_.data());
        t.row_count = static_cast<std::int64_t>(slices_.size());
        t.missed_steps = reinterpret_cast<std::int64_t*>(missed_.data());
        if constexpr (!std::is_empty_v<typename Layout::companion>)
            t.companions = reinterpret_cast<typename Layout::companion*>(companions_.data());
        t.moments = reinterpret_cast<typename Layout::moment*>(moments_.data());
        t.moment_stride = padded_;
        t.partials = reinterpret_cast<segment_partial*>(partials_.data());
        t.segments = segments_;
        t.elements = elements_;
        t.ordinal = ordinal;
        return t;
    }

  private:
    using buffer = typename Backend::buffer;

    static buffer take(Backend const& backend, std::int64_t count, std::size_t size) {
        if (size == 0) return backend.allocate(0);  // a rule without moments
        if (static_cast<std::uint64_t>(count) > std::numeric_limits<std::size_t>::max() / size) throw std::bad_alloc();
        return backend.allocate(static_cast<std::size_t>(count) * size);
    }
    template <class T>
    static void write(Backend const& backend, buffer const& to, std::vector<T> const& values) {
        if (!values.empty())
            backend.write(to.data(), reinterpret_cast<std::byte const*>(values.data()), values.size() * sizeof(T));
    }
    void write_rows(Backend const& backend) {
        std::vector<tensor_row> rows;
        rows.reserve(slices_.size());
        for (tensor_slice const& s : slices_) {
            auto const* gradient = static_cast<std::byte const*>(tensors_.gradients()[s.tensor].data);
            const auto offset = static_cast<std::size_t>(s.offset);
            rows.push_back({static_cast<std::byte*>(tensors_.parameters()[s.tensor].data) + offset * sizes_.parameter,
                            gradient == nullptr ? nullptr : gradient + offset * sizes_.gradient, s.size, s.state_offset,
                            s.first_index, s.first_segment});
        }
        write(backend, rows_, rows);
    }

    element_sizes sizes_{};
    group_tensors tensors_;
    std::vector<tensor_slice> slices_;
    std::int64_t segments_ = 0, elements_ = 0, padded_ = 0;
    buffer rows_{}, missed_{}, partials_{}, moments_{}, companions_{};
};

}  // namespace halfstep
