// SPDX-License-Identifier: Apache-2.0
// One snippet for each page of docs/slots.
#include <catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <string>
#include <vector>

namespace hs = halfstep;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
}  // namespace

TEST_CASE("Slot: parameter group") {
    // [snippet: parameter_group]
    struct trunk;
    struct gains;
    struct vocabulary;
    using recipe = hs::recipe<hs::group<trunk, hs::fp16>{.lr_factor = 0.5f},
                              hs::group<gains, float, hs::fp16>{.weight_decay_factor = 0},  // fp32, its gradients fp16
                              hs::frozen<vocabulary, hs::bf16>{}, hs::adamw{}>;

    std::vector<hs::fp16> matrix(6, hs::fp16(1.0f)), bias(3, hs::fp16(1.0f)), matrix_gradient(6);
    std::vector<float> gain(3, 1.0f);
    std::vector<hs::fp16> gain_gradient(3);
    std::vector<hs::bf16> table(100);

    hs::optimizer_step opt{recipe{}};
    opt.bind<trunk>(std::vector{hs::tensor_view(matrix.data(), {2, 3}, "matrix"), hs::tensor_view(bias)},
                    std::vector{hs::tensor_view(matrix_gradient), hs::tensor_view<hs::fp16>(nullptr, {3})});
    opt.bind<gains>(gain, gain_gradient);  // a contiguous range is one tensor
    opt.bind<vocabulary>(table);
    opt.step(0.125f);
    CHECK(bias[0] == hs::fp16(1.0f));    // it had no gradient: no decay either
    CHECK(matrix[0] != hs::fp16(1.0f));  // a gradient of zero: decayed
    CHECK(gain[0] == 1.0f);
    // [end]
    CHECK(std::abs(hs::widen(matrix[0]) - (1 - 0.125f * 0.5f * 0.01f)) < 0x1p-11f);
}

TEST_CASE("Slot: update rule") {
    // [snippet: update_rule]
    struct body;
    struct head;
    using recipe = hs::recipe<hs::group<body, float>{}, hs::group<head, float>{},
                              hs::adamw{.weight_decay = 0.1f},                            // for all groups
                              hs::on<head, hs::sgd<hs::nesterov>{.momentum = 0.75f}>{}>;  // but this one
    std::vector<float> x(4, 1.0f), x_gradient(4, 1.0f), y(4, 1.0f), y_gradient(4, 1.0f);

    hs::optimizer_step opt{recipe{}, hs::in_group<body>(hs::adamw{.weight_decay = 0})};  // numbers at run time
    static_assert(decltype(opt)::state_bytes<body>() == 8 && decltype(opt)::state_bytes<head>() == 4);
    opt.bind<body>(x, x_gradient);
    opt.bind<head>(y, y_gradient);
    opt.step(0.25f);
    CHECK(std::abs(x[0] - 0.75f) < 1e-6f);  // the first step of Adam is one learning rate
    CHECK(y[0] == 1 - 0.25f * 1.75f);       // gradient + momentum * gradient
    // [end]
}

TEST_CASE("Slot: update rule, another start of its moments") {
    // [snippet: update_rule-start]
    std::vector<float> table(4, 1.0f), table_gradient(4, 4.0f);
    hs::optimizer_step opt{hs::recipe<hs::dtype<float>{}, hs::adagrad{}>{}};
    opt.bind(table, table_gradient);
    opt.visit_state([](hs::state_entry const& e) {  // torch's initial_accumulator_value = 9
        const std::vector<float> start(e.bytes.size() / sizeof(float), 9.0f);
        if (e.component == "moment") std::memcpy(e.bytes.data(), start.data(), e.bytes.size());
    });
    opt.step(0.5f);
    CHECK(table[0] == 1 - 0.5f * 4 / 5);  // the root of 9 + 4 * 4
    // [end]
}

TEST_CASE("Slot: loss scaling") {
    std::vector<hs::fp16> weights(10), gradients(10);
    // [snippet: loss_scaling]
    using deepspeed = hs::hysteresis_scaling<hs::refill::on_growth, hs::growth_count::deepspeed>;
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, deepspeed{.hysteresis = 2, .floor = 0x1p15f}>;

    hs::optimizer_step opt{recipe{}, deepspeed{.floor = 0x1p15f, .floor_action = hs::at_floor::raise}};
    opt.bind(weights, gradients);
    gradients[3] = hs::fp16(infinity);
    CHECK(opt.loss_scale() == 65536);
    opt.step(0.1f);
    CHECK(opt.loss_scale() == 65536);  // the first overflow is forgiven, its step skipped
    opt.step(0.1f);
    CHECK(opt.loss_scale() == 32768);
    CHECK_THROWS_AS(opt.step(0.1f), std::runtime_error);  // already at the floor
    CHECK(opt.skipped_steps() == 3);
    // [end]
    // [snippet: loss_scaling-constexpr]
    constexpr float after_two_clean_steps = [] {
        constexpr hs::dynamic_scaling policy{.initial_scale = 8, .growth_interval = 2};
        auto state = hs::initial_state(policy);
        for (int i = 0; i < 2; ++i) policy.update(state, {.overflowed = false});
        return policy.scale(state);
    }();
    static_assert(after_two_clean_steps == 16);
    // [end]
}

TEST_CASE("Slot: overflow detection") {
    std::vector<hs::bf16> weights(10, hs::bf16(1.0f)), gradients(10, hs::bf16(1.0f));
    // [snippet: overflow_detection]
    // bf16 needs no scale, but a NaN is a NaN. The norm is wanted for clipping: let it be the check as well.
    using recipe = hs::recipe<hs::bf16{}, hs::adamw{}, hs::clip_by_norm{}, hs::norm_check{}>;

    hs::optimizer_step opt{recipe{}};
    opt.bind(weights, gradients);
    gradients[7] = hs::bf16(not_a_number);
    const hs::step_record r = opt.step(0.1f);
    CHECK(!r.applied);
    CHECK(r.loss_scale == 1);
    CHECK(weights[0] == hs::bf16(1.0f));
    CHECK(opt.skipped_steps() == 1);
    // [end]
    gradients[7] = hs::bf16(1.0f);
    // [snippet: overflow_detection-micro_batches]
    gradients[2] = hs::bf16(infinity);
    opt.inspect_micro_batch();  // seen here, and remembered
    gradients[2] = hs::bf16(1.0f);
    CHECK(!opt.step({.lr = 0.1f, .micro_batches = 2}).applied);
    CHECK(opt.step({.lr = 0.1f, .micro_batches = 2}).applied);
    // [end]
}

TEST_CASE("Slot: gradient clipping") {
    // [snippet: gradient_clipping]
    using recipe =
        hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 1024}, hs::clip_by_norm{.max_norm = 1}>;
    std::vector<hs::fp16> weights(2);
    std::vector<hs::fp16> gradients{hs::fp16(3 * 1024.0f), hs::fp16(4 * 1024.0f)};

    hs::optimizer_step opt{recipe{}};
    opt.bind(weights, gradients);
    CHECK(opt.step(1).gradient_norm == 5);  // of the unscaled gradients, before clipping
    CHECK(std::abs(hs::widen(weights[0]) + 0.6f) < 1e-3f);
    CHECK(std::abs(hs::widen(weights[1]) + 0.8f) < 1e-3f);
    // [end]
}

namespace {
template <class Storage>
float after_small_updates() {
    // [snippet: storage]
    // A thousand updates of 2^-12, each a 32nd of the distance from 1 to the next bf16 above.
    using recipe = hs::recipe<hs::bf16{}, hs::sgd<>{}, Storage{}>;
    std::vector<hs::bf16> weights(256, hs::bf16(1.0f)), gradients(256, hs::bf16(-1.0f));

    hs::optimizer_step opt{recipe{}};
    opt.bind(weights, gradients);
    for (int i = 0; i < 1000; ++i) opt.step(0x1p-12f);
    float sum = 0;
    for (hs::bf16 w : weights) sum += hs::widen(w);
    return sum / 256;
    // [end]
}
}  // namespace

TEST_CASE("Slot: storage") {
    // [snippet: storage-outcome]
    CHECK(after_small_updates<hs::in_place>() == 1);  // every one of them lost
    CHECK(std::abs(after_small_updates<hs::stochastic_rounding>() - (1 + 1000 * 0x1p-12f)) < 0.005f);
    // [end]
}

// [snippet: bytes]
template <auto... Policies>
constexpr std::size_t bytes = hs::recipe<Policies...>::composition::template plan<0>::state_bytes;

static_assert(bytes<hs::dtype<float>{}, hs::sgd<>{}> == 0);
static_assert(bytes<hs::dtype<float>{}, hs::adamw{}> == 2 * 4);
static_assert(bytes<hs::fp16{}, hs::adamw{}> == 4 + 2 * 4);               // fp32_master
static_assert(bytes<hs::fp16{}, hs::lion{}> == 4 + 4);                    // one moment
static_assert(bytes<hs::bf16{}, hs::adamw{}, hs::kahan{}> == 2 + 2 * 4);  // a bf16 compensation
static_assert(bytes<hs::bf16{}, hs::adamw{}, hs::stochastic_rounding{}> == 2 * 4);
static_assert(bytes<hs::bf16{}, hs::sgd<hs::nesterov>{}, hs::stochastic_rounding{}> == 4);
// [end]

TEST_CASE("Slot: state") {
    using recipe = hs::recipe<hs::bf16{}, hs::adamw{}, hs::fp32_state<>{}>;
    std::vector<hs::bf16> weights(300, hs::bf16(1.0f)), gradients(300, hs::bf16(1e-3f));
    std::vector<hs::bf16> copy = weights;
    hs::optimizer_step opt{recipe{}}, other{recipe{}};
    opt.bind(weights, gradients);
    for (int i = 0; i < 3; ++i) opt.step(0.1f);
    // [snippet: state]
    std::vector<std::vector<std::byte>> saved;
    opt.visit_state([&](hs::state_entry const& e) { saved.emplace_back(e.bytes.begin(), e.bytes.end()); });

    copy = weights;
    other.bind(copy, gradients);  // a step of the same recipe, its tensors bound in the same order
    std::size_t next = 0;
    other.visit_state([&](hs::state_entry const& e) {
        std::memcpy(e.bytes.data(), saved[next].data(), e.bytes.size());
        ++next;
    });
    opt.step(0.1f);
    other.step(0.1f);
    CHECK(weights == copy);
    CHECK(other.applied_steps() == 4);
    // [end]
}

TEST_CASE("Slot: sharding") {
    // [snippet: sharding]
    constexpr hs::replicated layout;
    static_assert(layout.owned(1003, 2, 4) == hs::flat_range{0, 1003});  // every rank updates everything
    static_assert(hs::replicated::gradients == hs::gradient_collective::all_reduce);
    static_assert(hs::replicated::parameters == hs::parameter_collective::none);
    // [end]
}

TEST_CASE("Slots: communicator and backend") {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 1}>;
    std::vector<hs::fp16> weights(10), gradients(10, hs::fp16(1.0f));
    // [snippet: machine]
    hs::optimizer_step opt{recipe{}, hs::host_backend{.threads = 2}, hs::self{}};
    // [end]
    opt.bind(weights, gradients);
    CHECK(opt.step(1).applied);
    CHECK(weights[9] == hs::fp16(-1.0f));
    static_assert(std::is_same_v<decltype(opt), decltype(hs::optimizer_step{recipe{}})>);
}

TEST_CASE("Slot: telemetry") {
    std::vector<float> weights(3, 1.0f), gradients(3, 1.0f);
    // [snippet: telemetry]
    using recipe = hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, hs::scale_curve<hs::json_lines>{.path = "run.jsonl"}>;
    hs::optimizer_step opt{recipe{}};
    opt.bind(weights, gradients);
    opt.step({.lr = 0.5f, .loss = 3});
    // run.jsonl: {"step":1,"loss_scale":1,"applied":1,"gradient_norm":null,"loss":3,"lr":0.5,"applied_steps":1,…}
    // [end]
    std::string line;
    std::getline(std::ifstream("run.jsonl"), line);
    CHECK(line == R"({"step":1,"loss_scale":1,"applied":1,"gradient_norm":null,"loss":3,"lr":0.5,"applied_steps":1,)"
                  R"("skipped_steps":0})");
    std::remove("run.jsonl");
}
