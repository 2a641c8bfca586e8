// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <halfstep/halfstep.hpp>
#include <vector>

#include "structure/units.hpp"

TEST_CASE("two files of a program share the library's functions and constants") {
    const std::vector<float> gradients(70, 0.25f);
    std::vector<float> here(70, 1.0f), there(70, 1.0f);
    halfstep::optimizer_step opt{units::recipe{}};
    opt.bind(here, gradients);
    REQUIRE(opt.step(1.0f).applied);
    units::step_in_the_other_file(there, gradients);
    REQUIRE(here == there);
    REQUIRE(units::address_in_the_other_file() == &units::weight_decay_of<units::recipe>);
}
