// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <field_cases/saved_state.hpp>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <memory>
#include <vector>

namespace hs = halfstep;

namespace {

/// A run over two tensors of 70 elements: steps 3 and 11 overflow, the second tensor has no gradient now and then.
template <class T, class Recipe>
class training {
  public:
    training() {
        for (auto& tensor : parameter_)
            for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = T(1 + 0.01f * static_cast<float>(i));
        start();
    }
    /// Step number `i` from 1; the loss scale after it.
    float step(int i) {
        for (std::size_t e = 0; e < elements; ++e) {
            const auto place = static_cast<float>(e) + 0.37f * static_cast<float>(i);
            gradient_[0][e] = T(std::sin(place) * step_->loss_scale() / 1024);
            gradient_[1][e] = T(std::cos(place) * step_->loss_scale() / 4096);
        }
        const bool overflow = i == 3 || i == 11;
        if (overflow) gradient_[0][5] = T(std::numeric_limits<float>::infinity());
        const bool both = i > 4 && i % 6 != 0;
        step_->bind_gradients(std::array{view(gradient_[0].data()), view(both ? gradient_[1].data() : nullptr)});
        CHECK(step_->step(0.01f / static_cast<float>(i)).applied == !overflow);
        return step_->loss_scale();
    }
    /// As a job that ends and is started anew: all but the parameters and the saved state is built again.
    void restart() {
        const auto saved = saved_state(*step_);
        start();
        restore_state(*step_, saved);
    }
    /// Companions, moments and counts of missed steps. The control block has padding, so its bytes cannot be compared.
    std::vector<saved_entry> tensor_state() {
        auto state = saved_state(*step_);
        std::erase_if(state, [](saved_entry const& entry) { return entry.component == "control"; });
        return state;
    }
    auto const& parameters() const { return parameter_; }
    std::int64_t applied_steps() const { return step_->applied_steps(); }
    std::int64_t skipped_steps() const { return step_->skipped_steps(); }

  private:
    static constexpr std::size_t elements = 70;
    using tensor = std::array<T, elements>;
    using step_type = decltype(hs::optimizer_step{Recipe{}});

    static hs::tensor_view<T const> view(T const* data) { return {data, {elements}}; }
    void start() {
        step_ = std::make_unique<step_type>(Recipe{});
        step_->bind(parameter_, std::array{view(nullptr), view(nullptr)});
    }

    std::array<tensor, 2> parameter_{}, gradient_{};
    std::unique_ptr<step_type> step_;
};

/// The same 20 steps straight through, and with a restart before the first and after every step.
template <class T, class Recipe>
void check_restarts() {
    training<T, Recipe> straight, restarted;
    restarted.restart();
    for (int i = 1; i <= 20; ++i) {
        INFO("step " << i);
        const float scale = straight.step(i);
        CHECK(restarted.step(i) == scale);
        restarted.restart();
    }
    CHECK(restarted.parameters() == straight.parameters());
    CHECK(restarted.tensor_state() == straight.tensor_state());
    CHECK(restarted.applied_steps() == 18);
    CHECK(restarted.skipped_steps() == 2);
}

constexpr hs::dynamic_scaling window_5{.initial_scale = 1024, .growth_interval = 5};
constexpr hs::hysteresis_scaling<hs::refill::on_growth, hs::growth_count::deepspeed> hysteresis_5{.initial_scale = 1024,
                                                                                                  .growth_interval = 5};

}  // namespace

TEST_CASE("8.1 Restarting does not change the run") {
    check_restarts<hs::fp16, hs::recipe<hs::fp16{}, hs::adamw{}, window_5>>();
    check_restarts<hs::fp16, hs::recipe<hs::fp16{}, hs::lion{}, hs::kahan{}, hysteresis_5>>();
    check_restarts<hs::bf16, hs::recipe<hs::bf16{}, hs::sgd<hs::classical_momentum>{.dampening = 0.1f},
                                        hs::stochastic_rounding{.seed = 3}>>();
}

TEST_CASE("8.3 Hyper-parameters and derived values on resume") {
    // Corrections at step 10, as the rule's own scalars: the step size is lr / (1 - beta1^10), the root's factor 1 /
    // sqrt(1 - beta2^10).
    const hs::adam saved_with{.beta1 = 0.9f, .beta2 = 0.95f};
    const auto corrections = saved_with.prepare({1, 1, 10});
    CHECK(-1 / static_cast<double>(corrections.minus_step_size) == Approx(0.6513215599).epsilon(2e-7));
    CHECK(1 / std::pow(static_cast<double>(corrections.second_correction), 2) == Approx(0.4012630608).epsilon(5e-7));

    // Nothing that follows from the hyper-parameters is saved; they come with the recipe or at construction. After
    // loading, the 11th step uses one set of them everywhere, whatever the saved run had.
    using recipe = hs::recipe<hs::dtype<float>{}, hs::adam{.beta1 = 0.8f, .beta2 = 0.999f}>;
    std::array<float, 1> parameter{1}, gradient{0.5f};
    hs::optimizer_step first{recipe{}, saved_with};
    first.bind(parameter, gradient);
    for (int i = 0; i < 10; ++i) first.step(0.01f);
    const auto saved = saved_state(first);
    const float at_10 = parameter[0];
    const auto read = [&](int moment) {
        float x = 0;
        for (auto const& entry : saved)
            if (entry.component == "moment" && entry.number == moment) std::memcpy(&x, entry.bytes.data(), sizeof x);
        return x;
    };
    for (hs::adam const& rule : {saved_with, hs::adam{.beta1 = 0.8f, .beta2 = 0.999f}}) {
        parameter[0] = at_10;
        hs::optimizer_step resumed{recipe{}, rule};
        resumed.bind(parameter, gradient);
        restore_state(resumed, saved);
        CHECK(resumed.step(0.01f).applied_steps == 11);
        float expected = at_10;
        hs::values<float, 2> moments{{read(0), read(1)}};
        rule.update(rule.prepare({0.01f, 1, 11}), expected, gradient[0], moments);
        CHECK(parameter[0] == expected);
    }
}
