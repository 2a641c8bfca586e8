// SPDX-License-Identifier: Apache-2.0
#include <rules/many_steps.hpp>

namespace hs = halfstep;
using many_steps::allowed;
using many_steps::worst_error;

TEST_CASE("sgd without momentum follows its formula") {
    CHECK(worst_error(hs::sgd<>{}, 1e-3f) < allowed);
    CHECK(worst_error(hs::sgd<>{.weight_decay = 0.2f}, 1e-3f) < allowed);
}

TEST_CASE("sgd with momentum follows its formula, its first gradient undamped") {
    CHECK(worst_error(hs::sgd<hs::classical_momentum>{}, 1e-3f) < allowed);
    CHECK(worst_error(hs::sgd<hs::classical_momentum>{.momentum = 0.7f, .dampening = 0.4f, .weight_decay = 0.2f},
                      1e-3f) < allowed);
}

TEST_CASE("sgd with Nesterov momentum follows its formula") {
    CHECK(worst_error(hs::sgd<hs::nesterov>{}, 1e-3f) < allowed);
    CHECK(worst_error(hs::sgd<hs::nesterov>{.momentum = 0.7f, .weight_decay = 0.2f}, 1e-3f) < allowed);
}

TEST_CASE("lion follows its formula") {
    CHECK(worst_error(hs::lion{}, 1e-3f) < allowed);
    CHECK(worst_error(hs::lion{.beta1 = 0.95f, .beta2 = 0.98f, .weight_decay = 0.3f}, 1e-3f) < allowed);
}
