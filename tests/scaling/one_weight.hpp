// SPDX-License-Identifier: Apache-2.0
/// A step over one fp16 weight whose gradient is clean or infinite, to see a loss scaling at work in a real step.
#pragma once

#include <array>
#include <cstddef>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <utility>
#include <vector>

template <class Recipe, class... Arguments>
class one_weight {
  public:
    explicit one_weight(Recipe, Arguments... arguments) : step_(Recipe{}, arguments...) {
        step_.bind(weight_, gradient_);
    }

    /// 'X' overflows. Any other step is clean.
    halfstep::step_record step(char kind) {
        const float scaled = kind == 'X' ? std::numeric_limits<float>::infinity() : step_.loss_scale() * 0x1p-10f;
        gradient_[0] = halfstep::fp16(scaled);
        return step_.step(0x1p-4f);
    }
    auto& optimizer() { return step_; }
    halfstep::fp16 weight() const { return weight_[0]; }

    /// Every byte that the step keeps, control block first.
    std::vector<std::vector<std::byte>> saved() {
        std::vector<std::vector<std::byte>> result;
        step_.visit_state([&](auto const& entry) { result.emplace_back(entry.bytes.begin(), entry.bytes.end()); });
        return result;
    }
    void restore(std::vector<std::vector<std::byte>> const& state) {
        std::size_t i = 0;
        step_.visit_state([&](auto const& entry) {
            for (std::size_t b = 0; b < entry.bytes.size(); ++b) entry.bytes[b] = state.at(i).at(b);
            ++i;
        });
    }

  private:
    std::array<halfstep::fp16, 1> weight_{halfstep::fp16(1.0f)}, gradient_{};
    decltype(halfstep::optimizer_step{std::declval<Recipe>(), std::declval<Arguments>()...}) step_;
};
