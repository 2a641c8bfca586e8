// SPDX-License-Identifier: Apache-2.0
/// Drives the loss scaling of a real step with a recorded sequence of clean and overflowing gradients.
#pragma once

#include <cstring>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <stdexcept>
#include <vector>

namespace oracle {

/// One fp16 parameter under SGD with the loss scaling `Scaling`.
template <class Scaling>
class scaled_run {
  public:
    using recipe = halfstep::recipe<halfstep::fp16{}, halfstep::sgd<>{}, Scaling{}>;
    using control_block = typename recipe::composition::control_block;

    explicit scaled_run(Scaling const& scaling) : step_(recipe{}, scaling) { step_.bind(parameter_, gradient_); }

    /// `what`: '.' for a clean gradient, else one with 'i'nf, '-'inf or 'n'an in it. A skipped step that moved the
    /// parameter says so by an exception.
    halfstep::step_record step(char what) {
        constexpr float inf = std::numeric_limits<float>::infinity();
        const float bad = what == 'i' ? inf : what == '-' ? -inf : std::numeric_limits<float>::quiet_NaN();
        gradient_ = {halfstep::fp16(0x1p-10f), halfstep::fp16(what == '.' ? 0x1p-10f : bad)};
        const auto before = parameter_;
        const auto record = step_.step(1.0f);
        if (!record.applied && parameter_ != before) throw std::logic_error("a skipped step moved a parameter");
        return record;
    }
    float scale() const { return step_.loss_scale(); }
    std::int64_t applied() const { return step_.applied_steps(); }
    std::vector<halfstep::fp16> const& parameter() const { return parameter_; }
    void set_gradient(float g) { gradient_.assign(2, halfstep::fp16(g)); }
    halfstep::step_record step_with(float lr) { return step_.step(lr); }

    /// The control block as `visit_state` shows it; writing it back is what a checkpoint does.
    control_block control() {
        control_block block;
        step_.visit_state([&](halfstep::state_entry const& entry) {
            if (entry.component == "control") std::memcpy(static_cast<void*>(&block), entry.bytes.data(), sizeof block);
        });
        return block;
    }
    void restore(control_block const& block) {
        step_.visit_state([&](halfstep::state_entry const& entry) {
            if (entry.component == "control") std::memcpy(entry.bytes.data(), &block, sizeof block);
        });
    }

  private:
    std::vector<halfstep::fp16> parameter_ = std::vector<halfstep::fp16>(2, halfstep::fp16(0.0f));
    std::vector<halfstep::fp16> gradient_ = std::vector<halfstep::fp16>(2, halfstep::fp16(0.0f));
    halfstep::optimizer_step<typename recipe::composition> step_;
};

}  // namespace oracle
