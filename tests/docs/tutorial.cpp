// SPDX-License-Identifier: Apache-2.0
// The programs of docs/tutorial.md, in its order.
#include <catch.hpp>

// [snippet: include]
#include <cmath>
#include <halfstep/halfstep.hpp>
#include <string_view>
#include <vector>
namespace hs = halfstep;
// [end]

TEST_CASE("Tutorial 1: one step of gradient descent in fp32") {
    // [snippet: first-step]
    using recipe = hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>;

    std::vector<float> weights{1, 2, 3}, gradients{1, 0, -1};
    hs::optimizer_step opt{recipe{}};
    opt.bind(weights, gradients);
    opt.step(0.5f);
    CHECK(weights == std::vector<float>{0.5f, 2, 3.5f});
    // [end]
}

// [snippet: model]
/// Fits weights to a target; the loss is the mean of the squared errors.
struct model {
    std::vector<hs::fp16> weights, gradients;
    std::vector<float> target;

    explicit model(std::size_t size) : weights(size), gradients(size), target(size) {
        for (std::size_t i = 0; i < size; ++i) target[i] = std::sin(static_cast<float>(i)) / 16;
    }

    /// The loss; leaves the gradients of loss * loss_scale.
    float backward(float loss_scale) {
        const float size = static_cast<float>(weights.size());
        double loss = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const float error = hs::widen(weights[i]) - target[i];
            loss += static_cast<double>(error * error);
            gradients[i] = hs::fp16(2 * error / size * loss_scale);
        }
        return static_cast<float>(loss) / size;
    }
};
// [end]

// [snippet: train]
template <class Step>
float train(Step& opt, model& m) {
    opt.bind(m.weights, m.gradients);
    constexpr int steps = 300;
    for (int i = 0; i < steps; ++i) {
        const float loss = m.backward(opt.loss_scale());
        opt.step({.lr = 0.002f * (1 - static_cast<float>(i) / steps), .loss = loss});
    }
    return m.backward(1);
}
// [end]

TEST_CASE("Tutorial 2: fp16 with the defaults reaches what fp16 weights can hold") {
    // [snippet: defaults]
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{.weight_decay = 0}>;

    hs::optimizer_step opt{recipe{}};
    model m(1 << 14);
    CHECK(train(opt, m) < 2e-10f);  // what rounding the weights to fp16 leaves
    // [end]
    CHECK(m.backward(1) > 1e-11f);

    // [snippet: defaults-written-out]
    using the_same =
        hs::recipe<hs::fp16{}, hs::adamw{.weight_decay = 0}, hs::dynamic_scaling{}, hs::nonfinite_check{},
                   hs::no_clipping{}, hs::fp32_master{}, hs::fp32_state<>{}, hs::replicated{}, hs::no_telemetry{}>;
    static_assert(std::is_same_v<recipe::composition, the_same::composition>);
    static_assert(decltype(opt)::state_bytes<hs::everything>() == 4 + 2 * 4);  // master weight, two moments
    // [end]
}

TEST_CASE("Tutorial 3: without a loss scale the small gradients are gone") {
    // [snippet: unscaled]
    using unscaled = hs::recipe<hs::fp16{}, hs::adamw{.weight_decay = 0}, hs::no_scaling{}, hs::accept_underflow{}>;

    hs::optimizer_step opt{unscaled{}};
    model m(1 << 14);
    CHECK(train(opt, m) > 1e-8f);  // a hundred times the loss
    // [end]
}

TEST_CASE("Tutorial 4: a scale that is too large is found and cut, and no overflow reaches the weights") {
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{.weight_decay = 0}>;
    // [snippet: overflow]
    hs::optimizer_step opt{recipe{}, hs::dynamic_scaling{.initial_scale = 0x1p36f}};
    model m(1 << 14);
    opt.bind(m.weights, m.gradients);

    m.backward(opt.loss_scale());  // gradients up to 2^36 / 2^17: beyond fp16
    hs::step_record r = opt.step(0.002f);
    CHECK(!r.applied);
    CHECK(r.next_loss_scale == 0x1p35f);
    CHECK(m.weights[1] == hs::fp16(0.0f));  // as it was

    while (!opt.step(0.002f)) m.backward(opt.loss_scale());
    CHECK(opt.loss_scale() == 0x1p32f);
    CHECK(opt.skipped_steps() == 4);
    CHECK(opt.applied_steps() == 1);  // bias corrections and schedules count these
    // [end]
}

TEST_CASE("Tutorial 5: groups of different dtypes in one step") {
    // [snippet: groups]
    struct matrices;
    struct gains;
    using recipe =
        hs::recipe<hs::group<matrices, hs::bf16>{}, hs::group<gains, float>{.weight_decay_factor = 0}, hs::adamw{},
                   hs::clip_by_norm{.max_norm = 1}, hs::on<matrices, hs::stochastic_rounding{}>{}>;

    std::vector<hs::bf16> first(64), second(32), first_gradient(64), second_gradient(32);
    std::vector<float> gain(8, 1.0f), gain_gradient(8, 0.5f);
    hs::optimizer_step opt{recipe{}};
    opt.bind<matrices>(std::vector{hs::tensor_view(first.data(), {8, 8}, "first"), hs::tensor_view(second)},
                       std::vector{hs::tensor_view(first_gradient), hs::tensor_view(second_gradient)});
    opt.bind<gains>(gain, gain_gradient);
    CHECK(std::abs(opt.step(0.01f).gradient_norm - std::sqrt(8 * 0.25)) < 1e-6);  // over both groups
    // [end]
    CHECK(std::abs(gain[3] - 0.99f) < 1e-6f);
}

// [snippet: policy]
namespace lab {

/// Doubles the scale after `patience` clean steps in a row; every overflow halves it and doubles the patience.
struct patient_scaling {
    using slot = hs::loss_scaling_slot;  // opt in by name; the concept then checks the members
    float initial_scale = 0x1p16f;
    int patience = 100;

    struct state {
        float scale;
        int clean_steps, patience;
    };
    HS_FUNCTION constexpr state initial() const { return {initial_scale, 0, patience}; }
    HS_FUNCTION constexpr float scale(state const& s) const { return s.scale; }
    HS_FUNCTION constexpr void update(state& s, hs::gradient_report const& r) const {
        if (r.overflowed) {
            s = {s.scale > 1 ? s.scale / 2 : s.scale, 0, s.patience < (1 << 20) ? 2 * s.patience : s.patience};
        } else if (++s.clean_steps >= s.patience) {
            s.clean_steps = 0;
            if (s.scale < 0x1p100f) s.scale *= 2;
        }
    }
    constexpr void validate() const {  // optional: for the compiler and at run time
        if (!(initial_scale >= 1 && initial_scale <= 0x1p100f))
            throw std::invalid_argument("lab: patient_scaling.initial_scale must lie in [1, 2^100]");
        if (patience < 1) throw std::invalid_argument("lab: patient_scaling.patience must be at least 1");
    }
};
static_assert(hs::loss_scaling<patient_scaling>);

}  // namespace lab
// [end]

// [snippet: policy-test]
constexpr float scale_after(std::string_view steps) {  // 'X' an overflow, '.' a clean step
    constexpr lab::patient_scaling policy{.initial_scale = 8, .patience = 2};
    auto state = policy.initial();
    for (char step : steps) {
        hs::gradient_report report;
        report.overflowed = step == 'X';
        policy.update(state, report);
    }
    return policy.scale(state);
}
static_assert(scale_after("..") == 16);
static_assert(scale_after("X") == 4);
static_assert(scale_after("X...") == 4 && scale_after("X....") == 8);  // the patience is 4 now
// [end]

TEST_CASE("Tutorial 6: a policy of one's own trains as a stock one does") {
    // [snippet: policy-in-a-recipe]
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{.weight_decay = 0}, lab::patient_scaling{.initial_scale = 0x1p36f}>;

    hs::optimizer_step opt{recipe{}};
    model m(1 << 14);
    CHECK(train(opt, m) < 2e-10f);
    CHECK(opt.skipped_steps() > 0);
    // [end]
    CHECK_THROWS_WITH((hs::optimizer_step{recipe{}, lab::patient_scaling{.patience = 0}}),
                      "lab: patient_scaling.patience must be at least 1");
}
