// SPDX-License-Identifier: Apache-2.0
/// The step of a recipe that was refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <halfstep/compose/recipe.hpp>
#include <halfstep/core/report.hpp>

namespace halfstep {

template <class Composition, class Backend, class Communicator>
class optimizer_step;

/// The step of an ill-formed recipe: it accepts every call, so that the recipe's sentence stays the only error.
template <class Backend, class Communicator>
class optimizer_step<invalid_composition, Backend, Communicator> {
  public:
    template <class... Arguments>
    explicit optimizer_step(Arguments&&...) {}
    template <class... Tags, class... Arguments>
    void bind(Arguments&&...) {}
    template <class... Tags, class... Arguments>
    void bind_gradients(Arguments&&...) {}
    float loss_scale() const { return 1; }
    void inspect_micro_batch() {}
    step_record step(step_input const&) { return {}; }
    step_record step(float) { return {}; }
    step_record const& read_back() { return last_; }
    step_record const& last() const { return last_; }
    std::int64_t applied_steps() const { return 0; }
    std::int64_t skipped_steps() const { return 0; }
    template <class Tag>
    gradient_report const& report() const {
        return report_;
    }
    template <class Tag>
    std::vector<gradient_report> tensor_reports() {
        return {};
    }
    template <class Tag>
    static constexpr std::size_t state_bytes() {
        return 0;
    }
    template <class F>
    void visit_state(F&&) {}

  private:
    step_record last_;
    gradient_report report_;
};

}  // namespace halfstep
