// SPDX-License-Identifier: Apache-2.0
// torchao's stochastic rounding to bf16, given the random words that it drew: the function itself, and AdamW with it.
#include <catch.hpp>
#include <cmath>
#include <cstring>

#include "replay.hpp"

using namespace oracle;
using namespace halfstep;

namespace {

/// torchao rounds up where r < the cut 16 bits; the core adds 16 random bits to them and rounds up on a carry. r and
/// 65535 - r do the same, and have the same distribution.
std::uint32_t random_word(std::uint32_t r) { return (65535 - r) << 16; }

struct rounded_case {
    std::vector<std::uint32_t> input, random;
    std::vector<bf16> theirs, ours;
};
rounded_case round_all(char const* name) {
    auto const& c = find_case("rounding", name);
    rounded_case r{
        c.tensors("input").at(0).bits, c.tensors("random").at(0).bits, c.tensors("rounded").at(0).as<bf16>(), {}};
    for (std::size_t i = 0; i < r.input.size(); ++i)
        stochastic_round_into(r.ours.emplace_back(), real_of(r.input[i]), random_word(r.random.at(i)));
    return r;
}

/// stochastic_rounding with words that somebody hands it: they lie beside the parameter, where a test can write them.
struct recorded_rounding {
    using slot = storage_slot;
    template <class T>
    using companion = float;
    template <class T>
    constexpr float initial(T) const {
        return 0;
    }
    template <class T>
    constexpr float load(T parameter, float) const {
        return widen(parameter);
    }
    template <class T>
    constexpr void store(float value, T& parameter, float& word, noise<float> const&) const {
        stochastic_round_into(parameter, value, bits_of(word));
    }
};

/// Moments in bf16, which torchao keeps in the parameter's dtype; the step itself uses them unrounded, as here.
struct bf16_moments {
    using slot = state_slot;
    using element = bf16;
    constexpr float load(bf16 moment) const { return widen(moment); }
    constexpr void store(float value, bf16& moment, noise<float> const&) const { moment = bf16(value); }
};

struct outcome {
    int parameters_differing = 0, moments_differing = 0, count = 0;
};
template <class Storage>
outcome replay_adamw(char const* name) {
    auto const& c = find_case("rounding", name);
    using recipe = halfstep::recipe<bf16{}, adamw{}, Storage{}, bf16_moments{}>;
    auto parameters = vectors<bf16>(c, "initial");
    auto gradients = vectors<bf16>(c.steps.front(), "gradient");
    optimizer_step step{recipe{}, rule_of<adamw>(c)};
    step.bind(views(parameters), views(gradients));
    outcome o;
    for (auto const& s : c.steps) {
        gradients = vectors<bf16>(s, "gradient");
        step.bind_gradients(views(gradients));
        step.visit_state([&](state_entry const& entry) {
            if (entry.component != "companion") return;
            std::vector<float> words;
            for (std::uint32_t r : s.tensors("random").at(entry.tensor).bits) words.push_back(real_of(random_word(r)));
            REQUIRE(words.size() * sizeof(float) == entry.bytes.size());
            std::memcpy(entry.bytes.data(), words.data(), entry.bytes.size());
        });
        REQUIRE(step.step(c.real("lr")).applied);
        const auto peer = vectors<bf16>(s, "parameter");
        for (std::size_t i = 0; i < peer.size(); ++i)
            for (std::size_t j = 0; j < peer[i].size(); ++j) {
                ++o.count;
                o.parameters_differing += parameters[i].at(j) == peer[i][j] ? 0 : 1;
            }
    }
    step.visit_state([&](state_entry const& entry) {
        if (entry.component != "moment") return;
        const auto peer = c.final.tensors("moment_" + std::to_string(entry.number)).at(entry.tensor).as<bf16>();
        std::vector<bf16> ours(peer.size());
        REQUIRE(entry.bytes.size() == ours.size() * sizeof(bf16));
        std::memcpy(ours.data(), entry.bytes.data(), entry.bytes.size());
        for (std::size_t j = 0; j < peer.size(); ++j) o.moments_differing += ours[j] == peer[j] ? 0 : 1;
    });
    return o;
}

}  // namespace

TEST_CASE("given torchao's random words, stochastic rounding gives its bits", "[oracle][storage]") {
    for (char const* name : {"edges", "random"}) {
        const rounded_case r = round_all(name);
        int up = 0;
        for (std::size_t i = 0; i < r.input.size(); ++i) {
            if (r.ours[i] != r.theirs[i])
                FAIL_CHECK(name << " " << i << ": " << std::hex << r.input[i] << " with " << r.random[i]);
            up += std::uint32_t{r.ours[i].bits} == r.input[i] >> 16 ? 0 : 1;
        }
        CHECK(up > static_cast<int>(r.input.size()) / 4);
    }
}

TEST_CASE("where torchao rounds finite values to inf or a NaN to inf, they stay finite and NaN", "[oracle][storage]") {
    const rounded_case largest = round_all("fault_largest");
    int lost = 0;
    for (std::size_t i = 0; i < largest.input.size(); ++i) {
        lost += is_nonfinite(widen(largest.theirs[i])) ? 1 : 0;
        CHECK_FALSE(is_nonfinite(widen(largest.ours[i])));
    }
    REQUIRE(lost > 0);
    const rounded_case nan = round_all("fault_nan");
    lost = 0;
    for (std::size_t i = 0; i < nan.input.size(); ++i) {
        lost += std::isinf(widen(nan.theirs[i])) ? 1 : 0;
        CHECK(std::isnan(widen(nan.ours[i])));
    }
    REQUIRE(lost > 0);
}

// No last bit differs: the rule and torchao differ by a few last bits of fp32 (see adam_torch.cpp), of which bf16 drops
// 16, and a random word falls between the two once in 10^4.
TEST_CASE("AdamW on bf16 parameters with torchao's random words gives its parameters and moments",
          "[oracle][storage]") {
    const outcome o = replay_adamw<recorded_rounding>("adamw_stochastic");
    CHECK(o.count == 1000);
    CHECK(o.parameters_differing == 0);
    CHECK(o.moments_differing == 0);
}

TEST_CASE("AdamW on bf16 parameters rounded to nearest gives torchao's parameters and moments", "[oracle][storage]") {
    const outcome o = replay_adamw<in_place>("adamw_nearest");
    CHECK(o.count == 1000);
    CHECK(o.parameters_differing == 0);
    CHECK(o.moments_differing == 0);
}
