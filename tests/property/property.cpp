// SPDX-License-Identifier: Apache-2.0
// Drives random recipes with random values, shapes, gradients, missing gradients and overflows, and compares every step
// with a reference in double. A failure prints the seed of its case; HALFSTEP_PROPERTY_CASES runs more of them.
#include <catch.hpp>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <property/reference.hpp>

using namespace property;

namespace {

class dice {
  public:
    explicit dice(unsigned seed) : engine_(seed) {}
    int upto(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n + 1)); }
    bool one_in(int n) { return upto(n - 1) == 0; }
    float between(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
    /// Magnitudes over many powers of two, as gradients have them.
    float spread(int low, int high) { return std::ldexp(between(-1, 1), low + upto(high - low)); }

  private:
    std::mt19937 engine_;
};

template <class Rule>
Rule random_rule(dice& d) {
    Rule r{};
    if constexpr (requires { r.beta1; }) r.beta1 = d.between(0, 0.95f);
    if constexpr (requires { r.beta2; }) r.beta2 = d.between(0.5f, 0.999f);
    if constexpr (requires { r.eps; }) r.eps = std::ldexp(1.0f, -8 - d.upto(20));
    if constexpr (requires { r.lr_decay; }) r.lr_decay = d.between(0, 0.5f);
    if constexpr (requires { r.momentum; }) r.momentum = d.between(0.1f, 0.95f);
    if constexpr (std::is_same_v<Rule, hs::sgd<hs::classical_momentum>>) r.dampening = d.between(0, 0.9f);
    r.weight_decay = d.one_in(2) ? 0 : d.between(0, 0.2f);
    return r;
}
template <class Clipping>
Clipping random_clipping(dice& d) {
    Clipping c{};
    if constexpr (requires { c.max_norm; }) c.max_norm = std::ldexp(1.0f, -d.upto(10));
    if constexpr (requires { c.max_value; }) c.max_value = std::ldexp(1.0f, -d.upto(10));
    return c;
}
template <class Scaling>
Scaling random_scaling(dice& d) {
    Scaling s{};
    if constexpr (requires { s.initial_scale; }) {
        s.initial_scale = std::ldexp(1.0f, d.upto(12)) * d.between(1, 2);
        s.growth_interval = 1 + d.upto(3);
        s.growth_factor = d.between(1.1f, 3);
        s.backoff_factor = d.between(0.2f, 0.9f);
        s.floor = 0x1p-20f;
    }
    return s;
}

/// The value that a step keeps for element `i`: the companion's share added for Kahan, the master where there is one.
template <class T>
std::vector<std::vector<double>> kept_values(auto& step, std::vector<std::vector<T>> const& parameters, bool master) {
    std::vector<std::vector<double>> kept;
    for (auto const& tensor : parameters) {
        kept.emplace_back();
        for (T p : tensor) kept.back().push_back(static_cast<double>(hs::widen(p)));
    }
    step.visit_state([&](hs::state_entry const& e) {
        if (e.component != "companion") return;
        for (std::size_t i = 0; i < kept[e.tensor].size(); ++i)
            if (master) {
                float x;
                std::memcpy(&x, e.bytes.data() + i * sizeof x, sizeof x);
                kept[e.tensor][i] = static_cast<double>(x);
            } else {
                T x;
                std::memcpy(&x, e.bytes.data() + i * sizeof x, sizeof x);
                kept[e.tensor][i] += static_cast<double>(hs::widen(x));
            }
    });
    return kept;
}

/// One random case; the text of the first deviation, or nothing. `tolerance` is relative to the largest value so far.
template <class T, class Rule, class Storage, class Clipping, class Scaling>
std::string deviation(unsigned seed, double tolerance) {
    dice d(seed);
    const auto rule = random_rule<Rule>(d);
    const auto clipping = random_clipping<Clipping>(d);
    auto scaling = random_scaling<Scaling>(d);
    using group = hs::group<hs::everything, T>;
    const group factors{.lr_factor = d.between(0.1f, 2), .weight_decay_factor = d.between(0, 2)};
    hs::optimizer_step step{
        hs::recipe<group{}, Rule{}, Storage{}, Clipping{}, Scaling{}>{},
        hs::host_backend{
            .threads = 1 + d.upto(2), .elements_per_thread = 64, .stream_above_bytes = d.upto(1) * 1000000},
        rule,
        clipping,
        scaling,
        factors};

    std::vector<std::vector<T>> parameters(1 + static_cast<std::size_t>(d.upto(5)));
    std::vector<std::vector<double>> start;
    for (auto& tensor : parameters) {
        tensor.resize(static_cast<std::size_t>(d.one_in(3) ? d.upto(3) : d.one_in(3) ? d.upto(9000) : d.upto(300)));
        start.emplace_back();
        for (auto& p : tensor) {
            p = hs::narrow<T>(d.spread(-4, 1));
            start.back().push_back(static_cast<double>(hs::widen(p)));
        }
    }
    std::vector<std::vector<T>> gradients = parameters;
    const auto views = [&](std::vector<bool> const& present) {
        std::vector<hs::tensor_view<T const>> v;
        for (std::size_t t = 0; t < gradients.size(); ++t)
            v.push_back(present[t]
                            ? hs::tensor_view<T const>(gradients[t])
                            : hs::tensor_view<T const>(nullptr, {static_cast<std::int64_t>(gradients[t].size())}));
        return v;
    };
    step.bind(parameters, views(std::vector<bool>(gradients.size(), true)));
    reference expected(start);
    auto scale_state = hs::initial_state(scaling);
    double largest = 4;

    for (int t = 0; t < 12; ++t) {
        std::vector<bool> present;
        std::vector<std::vector<double>> stored;
        const float scale = scaling.scale(scale_state);
        if (step.loss_scale() != scale) return "the loss scale at step " + std::to_string(t);
        for (auto& tensor : gradients) {
            present.push_back(!d.one_in(6) && !tensor.empty());
            for (auto& g : tensor) g = hs::narrow<T>(d.spread(-12, 0) * std::min(scale, 4096.0f));
            if (!tensor.empty() && d.one_in(12))
                tensor[static_cast<std::size_t>(d.upto(static_cast<int>(tensor.size()) - 1))] =
                    T(d.one_in(2) ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN());
            stored.emplace_back();
            if (present.back())
                for (T g : tensor) stored.back().push_back(static_cast<double>(hs::widen(g)));
        }
        step.bind_gradients(views(present));
        const float lr = std::ldexp(1.0f, -4 - d.upto(6));
        double max_norm = 0, max_value = 0;
        if constexpr (requires { clipping.max_norm; }) max_norm = clipping.max_norm;
        if constexpr (requires { clipping.max_value; }) max_value = clipping.max_value;
        const bool applied = step.step(lr).applied;
        const bool wanted =
            expected.step(rule, stored, scale, max_norm, max_value, static_cast<double>(lr * factors.lr_factor),
                          static_cast<double>(factors.weight_decay_factor));
        if (applied != wanted) return "the verdict at step " + std::to_string(t);
        hs::gradient_report report;
        report.overflowed = !wanted;
        scaling.update(scale_state, report);
        const auto kept = kept_values<T>(step, parameters, std::is_same_v<Storage, hs::fp32_master>);
        for (std::size_t k = 0; k < kept.size(); ++k)
            for (std::size_t i = 0; i < kept[k].size(); ++i) {
                const double p = expected.cells()[k][i].p;
                largest = std::max(largest, std::abs(p));
                if (!(std::abs(kept[k][i] - p) <= tolerance * largest))
                    return "step " + std::to_string(t) + ", tensor " + std::to_string(k) + ", element " +
                           std::to_string(i) + ": " + std::to_string(kept[k][i]) + " for " + std::to_string(p);
            }
    }
    return "";
}

int cases() {
    const char* wanted = std::getenv("HALFSTEP_PROPERTY_CASES");
    return wanted ? std::atoi(wanted) : 25;
}

template <class... Policies>
void check(double tolerance) {
    for (int i = 0; i < cases(); ++i) {
        const unsigned seed = 1000u + static_cast<unsigned>(i);
        const std::string what = deviation<Policies...>(seed, tolerance);
        INFO("seed " << seed);
        REQUIRE(what == "");
    }
}

// In fp32 a step is off by a few units of 2^-24, and by more where a small denominator amplifies them.
constexpr double fp32 = 2e-5;
// A bf16 pair holds 16 bits.
constexpr double bf16_pair = 2e-3;

}  // namespace

TEST_CASE("float parameters follow the reference in double", "[property]") {
    check<float, hs::adamw, hs::in_place, hs::clip_by_norm, hs::no_scaling>(fp32);
    check<float, hs::sgd<hs::nesterov>, hs::in_place, hs::clip_by_value, hs::dynamic_scaling>(fp32);
    check<float, hs::sgd<>, hs::in_place, hs::no_clipping, hs::no_scaling>(fp32);
    check<float, hs::adagrad, hs::in_place, hs::clip_by_norm, hs::static_scaling>(fp32);
}
TEST_CASE("masters of fp16 parameters follow the reference in double", "[property]") {
    check<hs::fp16, hs::adamw, hs::fp32_master, hs::clip_by_norm, hs::dynamic_scaling>(fp32);
    check<hs::fp16, hs::sgd<hs::classical_momentum>, hs::fp32_master, hs::clip_by_value, hs::hysteresis_scaling<>>(
        fp32);
    check<hs::fp16, hs::adam, hs::fp32_master, hs::no_clipping, hs::hysteresis_scaling<hs::refill::on_clean_step>>(
        fp32);
}
TEST_CASE("masters and Kahan pairs of bf16 parameters follow the reference in double", "[property]") {
    check<hs::bf16, hs::adamw, hs::fp32_master, hs::clip_by_value, hs::no_scaling>(fp32);
    check<hs::bf16, hs::adagrad, hs::fp32_master, hs::no_clipping, hs::no_scaling>(fp32);
    check<hs::bf16, hs::sgd<>, hs::kahan, hs::clip_by_norm, hs::no_scaling>(bf16_pair);
}
