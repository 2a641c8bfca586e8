// SPDX-License-Identifier: Apache-2.0
// torch.optim.AdamW and Adam, for-loop, foreach and fused on the CPU, against the stock rules.
#include <catch.hpp>

#include "peers/torch_adam.hpp"
#include "replay.hpp"

using namespace oracle;

namespace {

// Two bits for the first moment: torch.lerp rounds the distance to the gradient and then the sum, the rule a product
// and the sum, in each of eight steps. Three for the second: torch rounds b2 v before it adds. The parameter: one
// rounding of the division and one of the sum more in torch, whose differences eight steps add up, and more where a
// step moves a parameter far (large_steps: 0.1 a step). double_settings: torch keeps 0.999 in double, the rule in fp32,
// so 1 - b2 is 1.3e-5 larger in torch, and v with it (217 last bits); bias correction divides by the same 1 - b2^t and
// the parameter feels nothing of it. long: 100 steps.
constexpr bound adamw_bounds[] = {
    {"plain", 3, 2, 3},     {"decay", 4, 2, 3},
    {"wild", 3.5, 2, 2},    {"large_steps", 4, 2, 2},
    {"large_eps", 2, 2, 3}, {"short_memory", 2.5, 1, 1},
    {"no_memory", 2, 0, 0}, {"schedule", 2, 2, 3},
    {"absent", 4, 2, 3},    {"double_settings", 2, 5, 217},
    {"long", 5, 1, 7},
};
// Adam adds the decay to the gradient: there a difference in the parameter reaches the moments.
constexpr bound adam_bounds[] = {
    {"plain", 3, 2, 3},
    {"decay", 2, 2, 2},
    {"wild", 2, 1, 2},
    {"large_steps", 5, 2, 3},
    {"large_eps", 3, 1.5, 3},
    {"short_memory", 2, 1, 1},
    {"no_memory", 2, 0.25, 0.25},
    {"schedule", 3, 2, 3},
    {"absent", 2, 2, 3},
    {"double_settings", 2, 5, 216},
    {"long", 4, 1, 7},
};

template <class Rule, std::size_t N>
void check_within(std::string const& trace, bound const (&bounds)[N]) {
    for (auto const& c : read_trace(trace)) {
        const distances d = replay_rule<Rule>(c);
        INFO(text(c, d));
        CHECK(d.all_applied);
        CHECK(d.counts_agree);
        CHECK(within(d, bound_of(bounds, c.name)));
    }
}

/// Zero, but for MKL's square root in the for-loop and foreach forms. In whole vectors: the fused kernel's last n mod
/// 16 elements go through a scalar loop that the compiler contracts otherwise.
template <class Rule>
void check_same_bits(std::string const& trace) {
    for (auto const& c : read_trace(trace)) {
        if (c.name == "double_settings") continue;
        const bool fused = c.words("implementations").front() == "fused";
        const distances d = replay_rule<Rule>(c, elements::in_whole_vectors);
        INFO(text(c, d));
        CHECK(d.counts_agree);
        CHECK(d.moment[0] == 0);
        CHECK(d.moment[1] == 0);
        CHECK(d.parameter <= (fused ? 0 : 2));
        CHECK(d.differing <= (fused ? 0 : 0.02));
    }
}

}  // namespace

TEST_CASE("adamw keeps within a few last bits of torch.optim.AdamW in every implementation of it", "[oracle][adamw]") {
    check_within<halfstep::adamw>("adamw", adamw_bounds);
}

TEST_CASE("adam keeps within a few last bits of torch.optim.Adam in every implementation of it", "[oracle][adam]") {
    check_within<halfstep::adam>("adam", adam_bounds);
}

TEST_CASE("AdamW in torch's order of operations gives torch's bits", "[oracle][adamw]") {
    check_same_bits<torch_adam<true>>("adamw");
}

TEST_CASE("Adam in torch's order of operations gives torch's bits", "[oracle][adam]") {
    check_same_bits<torch_adam<false>>("adam");
}
