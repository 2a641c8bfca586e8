// SPDX-License-Identifier: Apache-2.0
// lion-pytorch against the stock rule, and what DeepSpeed's Lion does to rows without gradients.
#include <catch.hpp>

#include "peers/lion_pytorch.hpp"
#include "replay.hpp"

using namespace oracle;

namespace {

// lion-pytorch rounds b2 m and the decayed parameter before it adds, in each of eight steps. No sign differs.
constexpr bound bounds[] = {
    {"plain", 0, 2, 0},
    {"decay", 3, 3, 0},
    {"short_memory", 4, 1, 0},
    {"untouched", 0, 0, 0},
};

}  // namespace

TEST_CASE("lion keeps within a few last bits of lion-pytorch", "[oracle][lion]") {
    for (auto const& c : read_trace("lion")) {
        if (c.name == "untouched_deepspeed") continue;
        const distances d = replay_rule<halfstep::lion>(c);
        INFO(text(c, d));
        CHECK(d.all_applied);
        CHECK(within(d, bound_of(bounds, c.name)));
    }
}

TEST_CASE("Lion in lion-pytorch's order of operations gives its bits", "[oracle][lion]") {
    for (auto const& c : read_trace("lion")) {
        if (c.name == "untouched_deepspeed") continue;
        const distances d = replay_rule<lion_pytorch>(c);
        INFO(text(c, d));
        CHECK(within(d, {"", 0, 0, 0}));
    }
}

TEST_CASE("a row without gradients, which drifts under DeepSpeed's Lion, stays put", "[oracle][lion]") {
    auto const& c = find_case("lion", "untouched_deepspeed");
    const auto initial = vectors<float>(c, "initial");
    CHECK(vectors<float>(c.steps.back(), "parameter")[0][0] == Approx(0.47));  // moved by lr on each of three steps
    auto const& same = find_case("lion", "untouched");
    CHECK(vectors<float>(same.steps.back(), "parameter") == initial);
    CHECK(within(replay_rule<halfstep::lion>(same), {"", 0, 0, 0}));
}
