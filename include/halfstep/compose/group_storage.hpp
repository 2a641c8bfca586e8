// SPDX-License-Identifier: Apache-2.0
/// What the step keeps for one group: the table that its backend works on, and the state behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <halfstep/compose/composition.hpp>
#include <halfstep/compose/group_memory.hpp>
#include <halfstep/core/layout.hpp>

namespace halfstep {

template <class Plan, class Backend>
class group_storage {
  public:
    using layout = typename Plan::layout;
    using type = typename Plan::type;
    using gradient_type = typename Plan::gradient_type;

    group_storage() = default;

    /// Throws std::bad_alloc; the object is not usable then, so the step builds a new one and swaps.
    group_storage(group_tensors&& tensors, flat_range owned, std::int64_t applied_steps, std::uint32_t ordinal,
                  Backend const& backend)
        : memory_(std::move(tensors), owned, applied_steps, sizes, backend),
          table_(memory_.template table<layout>(ordinal)),
          bound_(true) {}

    bool bound() const { return bound_; }
    group_table<layout> const& table() const { return table_; }
    std::vector<bound_tensor> const& parameters() const { return memory_.tensors().parameters(); }
    std::vector<bound_tensor> const& gradients() const { return memory_.tensors().gradients(); }
    /// What the rows of the table are cut from.
    std::vector<tensor_slice> const& slices() const { return memory_.slices(); }

    /// New gradients for the same parameters. Throws std::invalid_argument and changes nothing when they do not match.
    void set_gradients(std::vector<bound_tensor> gradients, Backend const& backend) {
        memory_.set_gradients(std::move(gradients), backend);
    }

    /// Companions of a slice; null where the storage rule keeps none.
    auto companion(tensor_slice const& s) const {
        return table_.companions ? table_.companions + s.state_offset : nullptr;
    }
    /// Moment `k` of a slice.
    auto moment(tensor_slice const& s, int k) const {
        return table_.moments + k * table_.moment_stride + s.state_offset;
    }

  private:
    static constexpr element_sizes sizes{
        sizeof(type), sizeof(gradient_type), sizeof(typename layout::moment) * layout::moments,
        std::is_empty_v<typename layout::companion> ? 0 : sizeof(typename layout::companion)};
    group_memory<Backend> memory_;
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
