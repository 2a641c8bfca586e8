// SPDX-License-Identifier: Apache-2.0
/// The tensors bound to one group, and the memory that the step keeps for them.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <halfstep/compose/composition.hpp>
#include <halfstep/concepts/sharding_layout.hpp>
#include <halfstep/core/layout.hpp>
#include <halfstep/core/tensor.hpp>
#include <halfstep/core/type_name.hpp>

namespace halfstep {


template <class Plan, class Backend>
class group_storage {
  public:
    using layout = typename Plan::layout;
    using type = typename Plan::type;
    using gradient_type = typename Plan::gradient_type;
    using row = typename group_table<layout>::row;
    using parameter_view = tensor_view<type>;
    using gradient_view = tensor_view<gradient_type const>;

    group_storage() = default;

    /// Cuts the tensors into rows and takes memory for them. Throws std::invalid_argument for tensors that do not go together, and
    /// std::bad_alloc; the object is not usable then, so the step builds a new one and swaps.
    group_storage(std::vector<parameter_view> parameters, std::vector<gradient_view> gradients, auto const& owned_range,
                  std::int64_t applied_steps, std::uint32_t ordinal, Backend const& backend)
        : parameters_(std::move(parameters)), gradients_(std::move(gradients)) {
        check_counts(gradients_.size());
        std::int64_t total = 0;
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            if (parameters_[i].data() == nullptr && parameters_[i].size() != 0)
                throw std::invalid_argument("halfstep: " + where(i) + " has elements but no data");
            check_aligned(i, parameters_[i].data(), "parameter");
            check_memory(i, parameters_[i].data(), "parameter", backend);
            check_gradient(i, gradients_[i], backend);
            if (parameters_[i].size() > std::numeric_limits<std::int64_t>::max() / 16 - total)
                throw std::invalid_argument("halfstep: " + group_name() + " has more elements than memory can hold");
            total += parameters_[i].size();
        }
        make_rows(owned_range(total));
        table_.ordinal = ordinal;
        take_memory(backend);
        write_rows(backend);
        const std::vector<std::int64_t> missed(rows_.size(), applied_steps);
        write(backend, missed_memory_, missed);
        bound_ = true;
    }

    bool bound() const { return bound_; }
    group_table<layout> const& table() const { return table_; }
    std::vector<parameter_view> const& parameters() const { return parameters_; }
    std::vector<gradient_view> const& gradients() const { return gradients_; }
    std::vector<row> const& rows() const { return rows_; }
    /// The tensor that a row is cut from.
    std::size_t tensor_of_row(std::size_t row) const { return tensors_[row]; }

    /// New gradients for the same parameters. Throws std::invalid_argument and changes nothing when they do not match.
    void set_gradients(std::vector<gradient_view> gradients, Backend const& backend) {
        check_counts(gradients.size());
        for (std::size_t i = 0; i < gradients.size(); ++i) check_gradient(i, gradients[i], backend);
        gradients_ = std::move(gradients);
        for (std::size_t r = 0; r < rows_.size(); ++r) point_at_gradient(r);
        write_rows(backend);
    }

    /// Companions of a row; null where the storage rule keeps none.
    auto companion(std::size_t r) const { return table_.companions ? table_.companions + rows_[r].state_offset : nullptr; }
    /// Moment `k` of a row.
    auto moment(std::size_t r, int k) const {
        return table_.moments + k * table_.moment_stride + rows_[r].state_offset;
    }

  private:
    static std::string group_name() { return "group '" + std::string(type_name<typename Plan::tag>()) + "'"; }
    std::string where(std::size_t i) const {
        std::string text = "tensor " + std::to_string(i) + " of " + group_name();
        if (!parameters_[i].name().empty()) text += " ('" + std::string(parameters_[i].name()) + "')";
        return text;
    }
    void check_counts(std::size_t gradients) const {
        if (Plan::group::trains && gradients != parameters_.size())
            throw std::invalid_argument("halfstep: " + group_name() + " has " + std::to_string(parameters_.size()) +
                                        " parameters but " + std::to_string(gradients) +
                                        " gradients; give one each, a null view for a parameter without");
    }
    template <class T>
    void check_aligned(std::size_t i, T const* data, char const* what) const {
        if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
            throw std::invalid_argument("halfstep: " + where(i) + ": its " + what +
                                        " is not aligned to its element type");
    }
    /// A backend with memory of its own may object to what lies elsewhere.
    template <class T>
    void check_memory(std::size_t i, T const* data, char const* what, Backend const& backend) const {
        if constexpr (Backend::device_memory) {
            if (data == nullptr) return;
            if (const std::string objection = backend.objection_to(data); !objection.empty())
                throw std::invalid_argument("halfstep: " + where(i) + ": its " + what + " " + objection);
        }
    }
    void check_gradient(std::size_t i, gradient_view const& gradient, Backend const& backend) const {
        if (gradient.data() == nullptr) return;
        if (gradient.size() != parameters_[i].size())
            throw std::invalid_argument("halfstep: " + where(i) + " has " + std::to_string(parameters_[i].size()) +
                                        " elements but its gradient has " + std::to_string(gradient.size()));
        check_aligned(i, gradient.data(), "gradient");
        check_memory(i, gradient.data(), "gradient", backend);
    }

    void make_rows(flat_range owned) {
        std::int64_t first = 0;  // of the tensor in the group
        std::int64_t state = 0;
        for (std::size_t i = 0; i < parameters_.size(); first += parameters_[i].size(), ++i) {
            const flat_range mine = overlap(owned, {first, first + parameters_[i].size()});
            if (mine.empty()) continue;
            row r;
            r.parameter = parameters_[i].data() + (mine.begin - first);
            r.size = mine.end - mine.begin;
            r.state_offset = state;
            r.first_index = mine.begin;
            r.first_segment = table_.segments;
            table_.segments += segments_of(r.size);
            table_.elements += r.size;
            state += (r.size + state_alignment - 1) / state_alignment * state_alignment;
            rows_.push_back(r);
            tensors_.push_back(i);
            offsets_.push_back(mine.begin - first);
            point_at_gradient(rows_.size() - 1);
        }
        table_.moment_stride = state;
    }
    void point_at_gradient(std::size_t r) {
        auto const* data = gradients_[tensors_[r]].data();
        rows_[r].gradient = data == nullptr ? nullptr : data + offsets_[r];
    }
    template <class T>
    static void write(Backend const& backend, typename Backend::buffer const& to, std::vector<T> const& values) {
        if (!values.empty())
            backend.write(to.data(), reinterpret_cast<std::byte const*>(values.data()), values.size() * sizeof(T));
    }
    void write_rows(Backend const& backend) { write(backend, row_memory_, rows_); }
    void take_memory(Backend const& backend) {
        const auto bytes = [](std::int64_t count, std::size_t size) {
            if (size == 0) return std::size_t{0};  // a rule without moments
            if (static_cast<std::uint64_t>(count) > std::numeric_limits<std::size_t>::max() / size) throw std::bad_alloc();
            return static_cast<std::size_t>(count) * size;
        };
        const auto row_count = static_cast<std::int64_t>(rows_.size());
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

    std::vector<parameter_view> parameters_;
    std::vector<gradient_view> gradients_;
    std::vector<row> rows_;
    std::vector<std::size_t> tensors_;   // a row
    std::vector<std::int64_t> offsets_;  // of a row in its tensor
    typename Backend::buffer row_memory_{}, missed_memory_{}, partial_memory_{}, moment_memory_{}, companion_memory_{};
    group_table<layout> table_;
    bool bound_ = false;
};

/// A frozen group: its tensors are known, and that is all.
template <class Plan, class Backend>
    requires(!Plan::group::trains)
class group_storage<Plan, Backend> {
  public:
    using parameter_view = tensor_view<typename Plan::type>;
    group_storage() = default;
    explicit group_storage(std::vector<parameter_view> parameters) : parameters_(std::move(parameters)), bound_(true) {}
    bool bound() const { return bound_; }
    std::vector<parameter_view> const& parameters() const { return parameters_; }

  private:
    std::vector<parameter_view> parameters_;
    bool bound_ = false;
};

}  // namespace halfstep
