// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <cstring>
#include <scaling/drive.hpp>
#include <scaling/one_weight.hpp>

namespace hs = halfstep;

TEST_CASE("static_scaling never moves") {
    STATIC_REQUIRE(drive::scales(hs::static_scaling{.loss_scale = 128}, "..X.X") ==
                   drive::scale_array<5>{128, 128, 128, 128, 128});
    STATIC_REQUIRE(sizeof(hs::static_scaling::state) == 1);  // nothing to save
}

TEST_CASE("no_scaling is a scale of one, and says so") {
    STATIC_REQUIRE(drive::scales(hs::no_scaling{}, ".X.") == drive::scale_array<3>{1, 1, 1});
    STATIC_REQUIRE_FALSE(hs::scales_the_loss<hs::no_scaling>);
    STATIC_REQUIRE(hs::scales_the_loss<hs::static_scaling>);
}

TEST_CASE("A static scale is the one that unscales the gradients") {
    one_weight run(hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 256}>{});
    REQUIRE(run.step('.').applied);  // lr 2^-4, unscaled gradient 2^-10
    CHECK(run.weight() == hs::fp16(1 - 0x1p-14f));
    run.optimizer().visit_state([](auto const& entry) {
        if (entry.component != "companion") return;
        float master = 0;
        std::memcpy(&master, entry.bytes.data(), sizeof master);
        CHECK(master == 1 - 0x1p-14f);
    });
}
