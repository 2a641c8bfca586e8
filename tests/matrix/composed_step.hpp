// SPDX-License-Identifier: Apache-2.0
/// A step of any recipe of the matrix behind one interface, so that only what differs is compiled for each.
#pragma once

#include <matrix/workload.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace matrix {

class composed_step {
  public:
    virtual ~composed_step() = default;
    virtual void bind(byte_tensors const& parameters, byte_tensors const& gradients, int step) = 0;
    virtual void bind_gradients(byte_tensors const& gradients, int step) = 0;
    virtual hs::step_record step(float lr) = 0;
    virtual float loss_scale() const = 0;
    /// What `visit_state` hands out; good until the next `bind`.
    virtual std::vector<hs::state_entry> state() = 0;
};

/// Recipe `index`, which belongs to part `Part`. Defined in part.cpp, once a part.
template <int Part>
std::unique_ptr<composed_step> make_in_part(int index, hs::host_backend const& backend);

/// Recipe `index` of them all.
std::unique_ptr<composed_step> make_step(int index, hs::host_backend const& backend);

/// The backend is a template argument, so that another one can run the same recipes.
template <class Recipe, class Backend>
class composed_step_of final : public composed_step {
  public:
    explicit composed_step_of(Backend const& backend) : step_(Recipe{}, backend) {}

    void bind(byte_tensors const& parameters, byte_tensors const& gradients, int step) override {
        std::vector<hs::tensor_view<type>> views;
        for (int t = 0; t < tensor_count; ++t)
            views.push_back({reinterpret_cast<type*>(parameters.data(t)), {tensor_sizes[t]}});
        step_.bind(views, gradient_views(gradients, step));
    }
    void bind_gradients(byte_tensors const& gradients, int step) override {
        step_.bind_gradients(gradient_views(gradients, step));
    }
    hs::step_record step(float lr) override { return step_.step(lr); }
    float loss_scale() const override { return step_.loss_scale(); }
    std::vector<hs::state_entry> state() override {
        std::vector<hs::state_entry> entries;
        step_.visit_state([&](hs::state_entry const& e) { entries.push_back(e); });
        return entries;
    }

  private:
    using step_type = decltype(hs::optimizer_step(Recipe{}, std::declval<Backend const&>()));
    template <class Plan>
    struct type_of_group {
        using type = typename Plan::type;
    };
    using type = typename Recipe::composition::template with_plans<type_of_group>::type;

    static std::vector<hs::tensor_view<type const>> gradient_views(byte_tensors const& gradients, int step) {
        std::vector<hs::tensor_view<type const>> views;
        for (int t = 0; t < tensor_count; ++t)
            views.push_back({has_gradient(t, step) ? reinterpret_cast<type const*>(gradients.data(t)) : nullptr,
                             {tensor_sizes[t]}});
        return views;
    }

    step_type step_;
};

}  // namespace matrix
