// SPDX-License-Identifier: Apache-2.0
// torch.optim.Adagrad, for-loop, foreach and fused on the CPU, against the stock rule.
#include <catch.hpp>

#include "peers/torch_adagrad.hpp"
#include "replay.hpp"

using namespace oracle;

namespace {

// The parameter: torch rounds the rate times the gradient, the quotient and the sum, the rule the quotient and the sum,
// and eight steps add that up. The sum of squares is the same fma in both; it differs where weight decay brings a
// parameter that differs into the gradient. double_settings: torch divides a rate of 0.01 in double, the rule the fp32
// value. long: 100 steps.
constexpr bound bounds[] = {
    {"plain", 1.5, 0, 0},         {"wild", 1.5, 0, 0},    {"lr_decay", 2.75, 0, 0}, {"decay", 1.5, 0, 0},
    {"large_steps", 2, 0, 0},     {"large_eps", 2, 1, 0}, {"zeros", 2, 0, 0},       {"zeros_decay", 1, 1, 0},
    {"start", 2, 0, 0},           {"schedule", 2, 0, 0},  {"absent", 1.25, 0, 0},   {"long", 2, 0, 0},
    {"double_settings", 3, 0, 0},
};

}  // namespace

TEST_CASE("adagrad keeps within a few last bits of torch.optim.Adagrad in every implementation of it",
          "[oracle][adagrad]") {
    for (auto const& c : read_trace("adagrad")) {
        const distances d = replay_rule<halfstep::adagrad>(c);
        INFO(text(c, d));
        CHECK(d.all_applied);
        CHECK(d.counts_agree);
        CHECK(within(d, bound_of(bounds, c.name)));
    }
}

// Tails included. Where the forms differ, MKL's square root in the for-loop and foreach forms is what differs.
TEST_CASE("Adagrad in torch's order of operations gives torch's bits", "[oracle][adagrad]") {
    for (auto const& c : read_trace("adagrad")) {
        if (c.name == "double_settings") continue;
        const bool fused = c.words("implementations").back() == "fused";
        const distances d = replay_rule<torch_adagrad>(c);
        INFO(text(c, d));
        CHECK(d.counts_agree);
        CHECK(within(d, {"", fused ? 0.0 : 1.0, 0, 0}));
        CHECK(d.differing <= (fused ? 0 : 0.003));
    }
}

TEST_CASE("a row that has seen no gradient but zeros stays where it is, under Adagrad as under torch's",
          "[oracle][adagrad]") {
    trace_case c = find_case("adagrad", "zeros");
    c.steps.resize(3);
    for (auto const& s : c.steps) {
        for (auto const& gradient : vectors<float>(s, "gradient"))
            REQUIRE(gradient == std::vector<float>(gradient.size()));
        CHECK(vectors<float>(s, "parameter") == vectors<float>(c, "initial"));
    }
    CHECK(replay_rule<halfstep::adagrad>(c).parameter == 0);
}
