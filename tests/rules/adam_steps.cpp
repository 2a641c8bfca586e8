// SPDX-License-Identifier: Apache-2.0
#include <rules/many_steps.hpp>

namespace hs = halfstep;
using many_steps::allowed;
using many_steps::worst_error;

TEST_CASE("adamw follows its formula: decoupled decay before the step, eps beside the corrected root") {
    CHECK(worst_error(hs::adamw{}, 1e-2f) < allowed);
    CHECK(worst_error(hs::adamw{.beta1 = 0.8f, .beta2 = 0.95f, .eps = 1e-3f, .weight_decay = 0.3f}, 1e-2f) < allowed);
    CHECK(worst_error(hs::adamw{.beta1 = 0, .beta2 = 0, .weight_decay = 0}, 1e-2f) < allowed);
}

TEST_CASE("adam follows its formula: decay in the gradient and so in the moments") {
    CHECK(worst_error(hs::adam{}, 1e-2f) < allowed);
    CHECK(worst_error(hs::adam{.beta1 = 0.8f, .beta2 = 0.95f, .eps = 1e-3f, .weight_decay = 0.3f}, 1e-2f) < allowed);
    CHECK(worst_error(hs::adam{.eps = 1e-5f, .weight_decay = 1e-4f}, 1e-2f) < allowed);
}

TEST_CASE("adagrad follows its formula: the rate slows with a tensor's own updates, eps beside the root") {
    CHECK(worst_error(hs::adagrad{}, 1e-2f) < allowed);
    CHECK(worst_error(hs::adagrad{.lr_decay = 0.1f, .weight_decay = 0.3f, .eps = 1e-3f}, 1e-1f) < allowed);
    CHECK(worst_error(hs::adagrad{.lr_decay = 1e-3f, .weight_decay = 1e-4f, .eps = 1e-5f}, 1e-2f) < allowed);
}
