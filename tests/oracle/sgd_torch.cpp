// SPDX-License-Identifier: Apache-2.0
// torch.optim.SGD, for-loop, foreach and fused on the CPU, against the stock rule.
#include <catch.hpp>

#include "peers/torch_sgd.hpp"
#include "replay.hpp"

using namespace oracle;
using halfstep::momentum_kind;

namespace {

// Without momentum both are two fmas. With it torch rounds momentum times buffer before it adds, in each of eight
// steps.
constexpr bound bounds[] = {
    {"plain", 0, 0, 0},           {"decay", 0, 0, 0},    {"momentum", 4, 2, 0}, {"momentum_decay", 3, 2, 0},
    {"dampening", 2.25, 1.25, 0}, {"nesterov", 3, 2, 0}, {"absent", 2, 2, 0},   {"nesterov_decay", 2, 3, 0},
};

bool has_momentum(trace_case const& c) { return c.number("momentum") != 0; }
bool is_nesterov(trace_case const& c) { return c.number("nesterov") != 0; }

}  // namespace

TEST_CASE("sgd keeps within a few last bits of torch.optim.SGD in every implementation of it", "[oracle][sgd]") {
    for (auto const& c : read_trace("sgd")) {
        const distances d = !has_momentum(c) ? replay_rule<halfstep::sgd<>>(c)
                            : is_nesterov(c) ? replay_rule<halfstep::sgd<halfstep::nesterov>>(c)
                                             : replay_rule<halfstep::sgd<halfstep::classical_momentum>>(c);
        INFO(text(c, d));
        CHECK(d.all_applied);
        CHECK(within(d, bound_of(bounds, c.name)));
    }
}

TEST_CASE("SGD in torch's order of operations gives torch's bits", "[oracle][sgd]") {
    for (auto const& c : read_trace("sgd")) {
        if (!has_momentum(c)) continue;
        const distances d = is_nesterov(c) ? replay_rule<torch_sgd<true>>(c, elements::in_whole_vectors)
                                           : replay_rule<torch_sgd<false>>(c, elements::in_whole_vectors);
        INFO(text(c, d));
        CHECK(within(d, {"", 0, 0, 0}));
    }
}
