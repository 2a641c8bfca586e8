// SPDX-License-Identifier: Apache-2.0
/// The tensors bound to one group, without their types: checks, messages and the cut into rows. No template, so that a
/// file compiles it once and not once a group: it was half of what a further recipe cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <halfstep/concepts/sharding_layout.hpp>
#include <halfstep/core/layout.hpp>
#include <halfstep/core/tensor.hpp>

namespace halfstep {

/// A `tensor_view` of any element type; gradients are read only, whatever the pointer says.
struct bound_tensor {
    void* data;
    shape extents;
    std::string_view name;

    std::int64_t size() const { return extents.size(); }
    template <class T>
    static bound_tensor from(tensor_view<T> const& view) {
        return {const_cast<void*>(static_cast<void const*>(view.data())), view.extents(), view.name()};
    }
    template <class T>
    tensor_view<T> as() const {
        return {static_cast<T*>(data), extents, name};
    }
};

/// A range of tensors, or one tensor, viewed as `Element`s and then without their type.
template <class Element, class Tensors>
std::vector<bound_tensor> untyped(Tensors&& tensors) {
    std::vector<bound_tensor> result;
    if constexpr (tensor_like<Tensors, std::remove_const_t<Element>>)
        result.push_back(bound_tensor::from(view_as<Element>(tensors)));
    else
        for (auto&& tensor : tensors) result.push_back(bound_tensor::from(view_as<Element>(tensor)));
    return result;
}

/// The part of a tensor that this rank owns, in elements.
struct tensor_slice {
    std::size_t tensor;   ///< number in its group
    std::int64_t offset;  ///< of the slice in its tensor
    std::int64_t size;
    std::int64_t state_offset;   ///< as in tensor_row
    std::int64_t first_index;    ///< as in tensor_row
    std::int64_t first_segment;  ///< as in tensor_row
};

class group_tensors {
  public:
    group_tensors() = default;
    /// Throws std::invalid_argument, naming the tensor, for tensors that do not go together. The alignments are those
    /// of the element types.
    template <class Backend>
    group_tensors(std::string_view group, std::vector<bound_tensor> parameters, std::vector<bound_tensor> gradients,
                  std::size_t parameter_alignment, std::size_t gradient_alignment, Backend const& backend)
        : group_(group),
          gradient_alignment_(gradient_alignment),
          parameters_(std::move(parameters)),
          gradients_(std::move(gradients)) {
        check_gradients(gradients_);
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            bound_tensor const& parameter = parameters_[i];
            if (parameter.data == nullptr && parameter.size() != 0) refuse({where(i), " has elements but no data"});
            check_aligned(i, parameter.data, parameter_alignment, "parameter");
            if (parameter.size() > std::numeric_limits<std::int64_t>::max() / 16 - elements_)
                refuse({"group '", group_, "' has more elements than memory can hold"});
            elements_ += parameter.size();
        }
        check_memory(parameters_, "parameter", backend);
        check_memory(gradients_, "gradient", backend);
    }

    std::vector<bound_tensor> const& parameters() const { return parameters_; }
    std::vector<bound_tensor> const& gradients() const { return gradients_; }
    /// Of all tensors.
    std::int64_t elements() const { return elements_; }

    /// New gradients for the same parameters. Throws std::invalid_argument and changes nothing when they do not match.
    template <class Backend>
    void set_gradients(std::vector<bound_tensor> gradients, Backend const& backend) {
        check_gradients(gradients);
        check_memory(gradients, "gradient", backend);
        gradients_ = std::move(gradients);
    }

    /// The parts that lie in `owned`, a range of the group's flat index space.
    std::vector<tensor_slice> slices(flat_range owned) const {
        std::vector<tensor_slice> result;
        std::int64_t first = 0;  // of the tensor in the group
        std::int64_t state = 0, segment = 0;
        for (std::size_t i = 0; i < parameters_.size(); first += parameters_[i].size(), ++i) {
            const flat_range mine = overlap(owned, {first, first + parameters_[i].size()});
            if (mine.empty()) continue;
            const std::int64_t size = mine.end - mine.begin;
            result.push_back({i, mine.begin - first, size, state, mine.begin, segment});
            segment += segments_of(size);
            state += padded(size);
        }
        return result;
    }
    /// Elements of state that a slice takes, padding included.
    static std::int64_t padded(std::int64_t size) {
        return (size + state_alignment - 1) / state_alignment * state_alignment;
    }

  private:
    [[noreturn]] HS_COLD static void refuse(std::initializer_list<std::string_view> words) {
        std::string text = "halfstep: ";
        for (std::string_view word : words) text += word;
        throw std::invalid_argument(text);
    }
    HS_COLD std::string where(std::size_t i) const {
        std::string text = "tensor " + std::to_string(i);
        for (std::string_view word : {std::string_view(" of group '"), group_, std::string_view("'")}) text += word;
        if (!parameters_[i].name.empty())
            for (std::string_view word : {std::string_view(" ('"), parameters_[i].name, std::string_view("')")})
                text += word;
        return text;
    }
    void check_aligned(std::size_t i, void const* data, std::size_t alignment, std::string_view what) const {
        if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0)
            refuse({where(i), ": its ", what, " is not aligned to its element type"});
    }
    [[noreturn]] HS_COLD void refuse_number(std::size_t gradients) const {
        refuse({"group '", group_, "' has ", std::to_string(parameters_.size()), " parameters but ",
                std::to_string(gradients), " gradients; give one each, a null view for a parameter without"});
    }
    [[noreturn]] HS_COLD void refuse_size(std::size_t i, std::int64_t gradient) const {
        refuse({where(i), " has ", std::to_string(parameters_[i].size()), " elements but its gradient has ",
                std::to_string(gradient)});
    }
    void check_gradients(std::vector<bound_tensor> const& gradients) const {
        if (gradients.size() != parameters_.size()) refuse_number(gradients.size());
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            if (gradients[i].data == nullptr) continue;
            if (gradients[i].size() != parameters_[i].size()) refuse_size(i, gradients[i].size());
            check_aligned(i, gradients[i].data, gradient_alignment_, "gradient");
        }
    }
    /// A backend with memory of its own may object to what lies elsewhere.
    template <class Backend>
    void check_memory(std::vector<bound_tensor> const& tensors, std::string_view what, Backend const& backend) const {
        if constexpr (Backend::device_memory)
            for (std::size_t i = 0; i < tensors.size(); ++i) {
                if (tensors[i].data == nullptr || tensors[i].size() == 0) continue;
                if (const std::string objection = backend.objection_to(tensors[i].data); !objection.empty())
                    refuse({where(i), ": its ", what, " ", objection});
            }
    }

    std::string_view group_;
    std::size_t gradient_alignment_ = 1;
    std::vector<bound_tensor> parameters_;
    std::vector<bound_tensor> gradients_;
    std::int64_t elements_ = 0;
};

}  // namespace halfstep
