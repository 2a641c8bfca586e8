// SPDX-License-Identifier: Apache-2.0
/// A step of any recipe on any backend behind one type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "recipes.hpp"

namespace torch_extension {

/// Tensors as a binding has them.
struct raw_tensors {
    std::size_t count;
    void* const* parameters;
    void const* const* gradients;
    std::int64_t const* sizes;
};

class bound_step {
  public:
    bound_step() = default;
    bound_step(bound_step const&) = delete;
    bound_step& operator=(bound_step const&) = delete;
    virtual ~bound_step() = default;
    virtual void set_gradients(void const* const* gradients) = 0;
    virtual float const* loss_scale() = 0;
    virtual void step(hs::step_input const& in) = 0;
    virtual hs::step_record read_back() = 0;
};

template <class Recipe, class T, class Backend>
class bound_step_of final : public bound_step {
  public:
    bound_step_of(raw_tensors const& tensors, Backend const& backend)
        : sizes_(tensors.sizes, tensors.sizes + tensors.count), step_(Recipe{}, backend) {
        std::vector<hs::tensor_view<T>> parameters;
        for (std::size_t i = 0; i < tensors.count; ++i)
            parameters.push_back({static_cast<T*>(tensors.parameters[i]), {sizes_[i]}});
        step_.bind(parameters, views(tensors.gradients));
    }
    void set_gradients(void const* const* gradients) override { step_.bind_gradients(views(gradients)); }
    float const* loss_scale() override {
        if constexpr (Backend::device_memory)
            return step_.loss_scale();
        else
            return &(loss_scale_ = step_.loss_scale());
    }
    void step(hs::step_input const& in) override {
        step_.step(in);
        if constexpr (!Backend::device_memory) loss_scale_ = step_.loss_scale();
    }
    hs::step_record read_back() override { return step_.read_back(); }

  private:
    std::vector<hs::tensor_view<T const>> views(void const* const* gradients) const {
        std::vector<hs::tensor_view<T const>> result;
        for (std::size_t i = 0; i < sizes_.size(); ++i)
            result.push_back({static_cast<T const*>(gradients[i]), {sizes_[i]}});
        return result;
    }

    std::vector<std::int64_t> sizes_;
    decltype(hs::optimizer_step(Recipe{}, std::declval<Backend>())) step_;
    float loss_scale_ = 1;
};

/// The step of the recipe called `name`. Throws std::invalid_argument where there is none.
template <class Backend>
std::unique_ptr<bound_step> make_bound_step(std::string_view name, raw_tensors const& tensors, Backend const& backend) {
    std::unique_ptr<bound_step> made;
    std::string known;
    for_each_recipe([&]<class Recipe, class T>(std::string_view own, Recipe, T) {
        known += (known.empty() ? "" : ", ") + std::string(own);
        if (own == name) made = std::make_unique<bound_step_of<Recipe, T, Backend>>(tensors, backend);
    });
    if (!made) throw std::invalid_argument("no recipe '" + std::string(name) + "'; there are " + known);
    return made;
}

}  // namespace torch_extension
