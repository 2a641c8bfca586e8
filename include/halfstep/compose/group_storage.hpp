// SPDX-License-Identifier: Apache-2.0
/// The memory that the step keeps for one group: the table that its backend works on, and the state behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <halfstep/compose/composition.hpp>
#include <halfstep/compose/group_tensors.hpp>
#include <halfstep/concepts/sharding_layout.hpp>
#include <halfstep/core/layout.hpp>
#include <halfstep/core/tensor.hpp>

namespace halfstep {

template <class Plan, class Backend>
class group_storage {
  public:
    using layout = typename Plan::layout;
    using type = typename Plan::type;
    using gradient_type = typename Plan::gradient_type;
    using row = typename group_table<layout>::row;

    group_storage() = default;

    /// Takes memory for the slices of the tensors that this rank owns. Throws std::bad_alloc; the object is not usable then, so the step
    /// builds a new one and swaps.
    group_storage(group_tensors tensors, flat_range owned, std::int64_t applied_steps, std::uint32_t ordinal, Backend const& backend)
        : tensors_(std::move(tensors)), slices_(tensors_.slices(owned)) {
        for (tensor_slice const& slice : slices_) {
            table_.segments += segments_of(slice.size);
            table_.elements += slice.size;
            table_.moment_stride += group_tensors::padded(slice.size);
        }
        table_.ordinal = ordinal;
        take_memory(backend);
        write_rows(backend);
        const std::vector<std::int64_t> missed(slices_.size(), applied_steps);
        write(backend, missed_memory_, missed);
        bound_ = true;
    }

    bool bound() const { return bound_; }
    group_table<layout> const& table() const { return table_; }
    std::vector<bound_tensor> const& parameters() const { return tensors_.parameters(); }
    std::vector<bound_tensor> const& gradients() const { return tensors_.gradients(); }
    /// What the rows of the table are cut from.
    std::vector<tensor_slice> const& slices() const { return slices_; }

    /// New gradients for the same parameters. Throws std::invalid_argument and changes nothing when they do not match.
    void set_gradients(std::vector<bound_tensor> gradients, Backend const& backend) {
        tensors_.set_gradients(std::move(gradients), backend);
        write_rows(backend);
    }

    /// Companions of a slice; null where the storage rule keeps none.
    auto companion(tensor_slice const& s) const { return table_.companions ? table_.companions + s.state_offset : nullptr; }
    /// Moment `k` of a slice.
    auto moment(tensor_slice const& s, int k) const { return table_.moments + k * table_.moment_stride + s.state_offset; }

  private:
    template <class T>
    static void write(Backend const& backend, typename Backend::buffer const& to, std::vector<T> const& values) {
        if (!values.empty())
            backend.write(to.data(), reinterpret_cast<std::byte const*>(values.data()), values.size() * sizeof(T));
    }
    void write_rows(Backend const& backend) {
        std::vector<row> rows(slices_.size());
        for (std::size_t r = 0; r < rows.size(); ++r) {
            tensor_slice const& s = slices_[r];
            auto const* gradient = static_cast<gradient_type const*>(gradients()[s.tensor].data);
            rows[r] = {static_cast<type*>(parameters()[s.tensor].data) + s.offset,
                       gradient == nullptr ? nullptr : gradient + s.offset,
                       s.size,
                       s.state_offset,
                       s.first_index,
                       s.first_segment};
        }
        write(backend, row_memory_, rows);
    }
    void take_memory(Backend const& backend) {
        const auto bytes = [](std::int64_t count, std::size_t size) {
            if (size == 0) return std::size_t{0};  // a rule without moments
            if (static_cast<std::uint64_t>(count) > std::numeric_limits<std::size_t>::max() / size) throw std::bad_alloc();
            return static_cast<std::size_t>(count) * size;
        };
        const auto row_count = static_cast<std::int64_t>(slices_.size());
        row_memory_ = backend.allocate(bytes(row_count, sizeof(row)));
        missed_memory_ = backend.allocate(bytes(row_count, sizeof(std::int64_t)));
        partial_memory_ = backend.allocate(bytes(table_.segments, sizeof(segment_partial)));
        moment_memory_ = backend.allocate(bytes(table_.moment_stride, sizeof(typename layout::moment) * layout::moments));
        if constexpr (!std::is_empty_v<typename layout::companion>) {
            companion_memory_ = backend.allocate(bytes(table_.moment_stride, sizeof(typename layout::companion)));
            table_.companions = reinterpret_cast<typename layout::companion*>(companion_memory_.data());
        }
        table_.rows = reinterpret_cast<row const*>(row_memory_.data());
        table_.row_count = row_count;
        table_.missed_steps = reinterpret_cast<std::int64_t*>(missed_memory_.data());
        table_.partials = reinterpret_cast<segment_partial*>(partial_memory_.data());
        table_.moments = reinterpret_cast<typename layout::moment*>(moment_memory_.data());
    }

    group_tensors tensors_;
    std::vector<tensor_slice> slices_;
    typename Backend::buffer row_memory_{}, missed_memory_{}, partial_memory_{}, moment_memory_{}, companion_memory_{};
    group_table<layout> table_;
    bool bound_ = false;
};

/// A frozen group: its tensors are known, and that is all.
template <class Plan, class Backend>
    requires(!Plan::group::trains)
class group_storage<Plan, Backend> {
  public:
    using type = typename Plan::type;
    group_storage() = default;
    explicit group_storage(std::vector<bound_tensor> parameters) : parameters_(std::move(parameters)), bound_(true) {}
    bool bound() const { return bound_; }
    std::vector<bound_tensor> const& parameters() const { return parameters_; }

  private:
    std::vector<bound_tensor> parameters_;
    bool bound_ = false;
};

}  // namespace halfstep
