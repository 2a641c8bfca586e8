// SPDX-License-Identifier: Apache-2.0
// What becomes of updates that are smaller than half a last place of the parameter, under each storage rule.
#include <catch.hpp>
#include <cmath>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <vector>

namespace hs = halfstep;

namespace {

/// 100 steps of SGD with lr·g = 6e-4 from 1, on `count` equal parameters.
template <class T, class Storage>
struct creeping_run {
    std::vector<T> parameters;
    std::vector<float> companions;  // widened

    explicit creeping_run(std::size_t count, T gradient = T(1.0f)) : parameters(count, T(1.0f)) {
        using recipe = hs::recipe<T{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 1}, Storage{}>;
        const std::vector<T> gradients(count, gradient);
        hs::optimizer_step opt{recipe{}};
        opt.bind(parameters, gradients);
        for (int step = 0; step < 100; ++step) REQUIRE(opt.step(6e-4f).applied);
        opt.visit_state([&](hs::state_entry const& entry) {
            if (entry.component != "companion") return;
            using companion = typename Storage::template companion<T>;
            if constexpr (!std::is_empty_v<companion>)
                for (std::size_t at = 0; at < entry.bytes.size(); at += sizeof(companion)) {
                    companion c;
                    std::memcpy(&c, entry.bytes.data() + at, sizeof c);
                    companions.push_back(hs::widen(c));
                }
        });
    }
};

}  // namespace

TEST_CASE("field case 5.2: small updates are not lost with an fp32 master of bf16 parameters") {
    const creeping_run<hs::bf16, hs::fp32_master> run(3);
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(std::fabs(run.companions[i] - 0.94f) <= 2e-6f);
        REQUIRE(run.parameters[i].bits == 0x3F71);  // 0.94140625
    }
}

TEST_CASE("field case 5.2: small updates are not lost with Kahan compensation in bf16") {
    const creeping_run<hs::bf16, hs::kahan> run(3);
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(run.parameters[i].bits == 0x3F71);
        REQUIRE(std::fabs(run.companions[i]) > 0.001f);
        REQUIRE(std::fabs(run.companions[i]) < 0.002f);
        REQUIRE(std::fabs(hs::widen(run.parameters[i]) + run.companions[i] - 0.94f) <= 2e-4f);
    }
}

TEST_CASE("field case 5.2: rounding to nearest in place loses them for good, and is never the default") {
    // 1 - 6e-4 is above the midpoint 1 - 2^-9, so it rounds back to 1 every time.
    const creeping_run<hs::bf16, hs::in_place> run(3);
    for (hs::bf16 x : run.parameters) REQUIRE(x.bits == 0x3F80);
    using by_default = hs::recipe<hs::bf16{}, hs::sgd<>{}>;
    STATIC_REQUIRE(
        std::is_same_v<by_default::composition, hs::recipe<hs::bf16{}, hs::sgd<>{}, hs::fp32_master{}>::composition>);
}

TEST_CASE("small updates arrive on average with stochastic rounding") {
    const creeping_run<hs::bf16, hs::stochastic_rounding> run(4096);
    double sum = 0;
    for (hs::bf16 x : run.parameters) sum += static_cast<double>(hs::widen(x));
    // Each of 100 steps rounds by one of two neighbours 2^-8 apart: at most 2^-9 of deviation a step, 5 sigma of the
    // mean.
    REQUIRE(std::fabs(sum / 4096 - 0.94) <= 5 * 0x1p-9 * 10 / 64);
}

TEST_CASE("a master policy is the same for fp16 as for bf16") {
    const creeping_run<hs::fp16, hs::fp32_master> half(1);
    const creeping_run<hs::bf16, hs::fp32_master> brain(1);
    REQUIRE(half.companions == brain.companions);
    REQUIRE(half.parameters[0] == hs::fp16(half.companions[0]));
}

TEST_CASE("updates below an fp8 parameter's last place arrive through master and compensation") {
    // fp8_e5m2 next to 1 has steps of 1/8 below: in place nothing would ever move.
    const creeping_run<hs::fp8_e5m2, hs::in_place> stuck(1);
    REQUIRE(hs::widen(stuck.parameters[0]) == 1);
    const creeping_run<hs::fp8_e5m2, hs::fp32_master> master(1);
    REQUIRE(hs::widen(master.parameters[0]) == 1);
    REQUIRE(std::fabs(master.companions[0] - 0.94f) <= 2e-6f);
}

TEST_CASE("masters start as the parameters are at bind, every fp16 pattern of them") {
    std::vector<hs::fp16> parameters;
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits)
        parameters.push_back(hs::fp16::from_bits(static_cast<std::uint16_t>(bits)));
    const std::vector<hs::fp16> before = parameters, gradients(parameters.size());
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::static_scaling{}>{}};
    opt.bind(parameters, gradients);
    opt.visit_state([&](hs::state_entry const& entry) {
        if (entry.component != "companion") return;
        for (std::size_t i = 0; i < before.size(); ++i) {
            float master;
            std::memcpy(&master, entry.bytes.data() + 4 * i, 4);
            if (hs::bits_of(master) != hs::bits_of(hs::widen(before[i]))) FAIL("pattern " << i);
        }
    });
    REQUIRE(opt.step(0.0f).applied);  // a learning rate of zero: the parameters come back as they were
    for (std::size_t i = 0; i < before.size(); ++i)
        if (!hs::is_nonfinite(hs::widen(before[i])) && parameters[i] != before[i]) FAIL("pattern " << i);
}
