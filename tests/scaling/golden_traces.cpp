// SPDX-License-Identifier: Apache-2.0
// The loss scalers of the field, scale after scale. The rows were recorded from the released classes of PyTorch 2.15,
// DeepSpeed 0.19.8 and Megatron Core 0.16.1; those of Apex and metaseq follow from their sources.
#include <catch.hpp>
#include <halfstep/loss_scaling/dynamic_scaling.hpp>
#include <halfstep/loss_scaling/hysteresis_scaling.hpp>
#include <scaling/drive.hpp>

namespace hs = halfstep;
using drive::events;
using drive::scale_array;
using drive::scales;
using hs::growth_count;
using hs::refill;
using hs::scaling_event;

namespace {

using deepspeed = hs::hysteresis_scaling<refill::on_growth, growth_count::deepspeed>;
using deepspeed_consecutive = hs::hysteresis_scaling<refill::on_clean_step, growth_count::deepspeed>;
using megatron = hs::hysteresis_scaling<refill::on_growth, growth_count::clean_steps>;
using apex = hs::hysteresis_scaling<refill::on_clean_step, growth_count::clean_steps>;

template <class P>
constexpr P from_16(int hysteresis) {
    return {.initial_scale = 16, .growth_interval = 3, .hysteresis = hysteresis, .floor = 1};
}
constexpr hs::dynamic_scaling pytorch{.initial_scale = 16, .growth_interval = 3};

}  // namespace

TEST_CASE("dynamic_scaling follows PyTorch's GradScaler") {
    STATIC_REQUIRE(scales(pytorch, "X..X....XX......") ==
                   scale_array<16>{8, 8, 8, 4, 4, 4, 8, 8, 4, 2, 2, 2, 4, 4, 4, 8});
}

TEST_CASE("hysteresis_scaling follows DeepSpeed, hysteresis refilled on growth") {
    STATIC_REQUIRE(scales(from_16<deepspeed>(2), "X..X....XX......") ==
                   scale_array<16>{16, 16, 16, 8, 8, 8, 8, 16, 16, 8, 8, 8, 8, 16, 16, 16});
}

TEST_CASE("hysteresis_scaling follows DeepSpeed with consecutive_hysteresis") {
    STATIC_REQUIRE(scales(from_16<deepspeed_consecutive>(2), "X..X....XX......") ==
                   scale_array<16>{16, 16, 16, 16, 16, 16, 16, 32, 32, 16, 16, 16, 16, 32, 32, 32});
}

TEST_CASE("hysteresis_scaling follows Megatron's DynamicGradScaler") {
    STATIC_REQUIRE(scales(from_16<megatron>(2), "X..X....XX......") ==
                   scale_array<16>{16, 16, 16, 8, 8, 8, 16, 16, 16, 8, 8, 8, 16, 16, 16, 32});
}

TEST_CASE("hysteresis_scaling follows Apex update_scale_hysteresis") {
    STATIC_REQUIRE(scales(from_16<apex>(2), "X..X....XX......") ==
                   scale_array<16>{16, 16, 16, 16, 16, 16, 32, 32, 32, 16, 16, 16, 32, 32, 32, 64});
}

TEST_CASE("With hysteresis 1 the kinds of refill agree, and plain counting is PyTorch's rule") {
    STATIC_REQUIRE(scales(from_16<megatron>(1), "X..X....XX......") == scales(pytorch, "X..X....XX......"));
    STATIC_REQUIRE(scales(from_16<apex>(1), "X..X....XX......") == scales(pytorch, "X..X....XX......"));
    STATIC_REQUIRE(scales(from_16<deepspeed>(1), "X..X....XX......") ==
                   scales(from_16<deepspeed_consecutive>(1), "X..X....XX......"));
}

TEST_CASE("DeepSpeed's first growth needs one clean step more than the later ones") {
    STATIC_REQUIRE(scales(from_16<deepspeed>(1), "..........") ==
                   scale_array<10>{16, 16, 16, 32, 32, 32, 64, 64, 64, 128});
}

TEST_CASE("DeepSpeed raises when an overflow finds the scale at its floor") {
    constexpr auto none = scaling_event::none;
    constexpr auto raise = scaling_event::raise_at_floor;
    constexpr deepspeed one{.initial_scale = 4, .hysteresis = 1, .floor = 1, .floor_action = hs::at_floor::raise};
    STATIC_REQUIRE(scales(one, "XXX") == scale_array<3>{2, 1, 1});
    STATIC_REQUIRE(events(one, "XXX") == std::array{none, none, raise});
    constexpr deepspeed two{.initial_scale = 16, .hysteresis = 2, .floor = 1, .floor_action = hs::at_floor::raise};
    STATIC_REQUIRE(scales(two, "XXXXXX") == scale_array<6>{16, 8, 4, 2, 1, 1});
    STATIC_REQUIRE(events(two, "XXXXXX") == std::array{none, none, none, none, none, raise});
    // The event belongs to the step that found the floor; a clean one is quiet again.
    STATIC_REQUIRE(events(one, "XXX.X") == std::array{none, none, raise, none, raise});
}

TEST_CASE("Growth that would be infinite leaves the scale and restarts the count") {
    constexpr auto count = [](auto const& state) { return state.clean_steps; };
    constexpr hs::dynamic_scaling top{.initial_scale = 0x1p127f, .growth_interval = 2};
    STATIC_REQUIRE(scales(top, "......") == scale_array<6>{0x1p127f, 0x1p127f, 0x1p127f, 0x1p127f, 0x1p127f, 0x1p127f});
    STATIC_REQUIRE(drive::along(top, "......", count) == std::array{1, 0, 1, 0, 1, 0});
    constexpr megatron hysteresis{.initial_scale = 0x1p127f, .growth_interval = 2};
    STATIC_REQUIRE(scales(hysteresis, "....") == scale_array<4>{0x1p127f, 0x1p127f, 0x1p127f, 0x1p127f});
    STATIC_REQUIRE(drive::along(hysteresis, "....", count) == std::array{1, 0, 1, 0});
}

TEST_CASE("Growth stops at the ceiling") {
    constexpr hs::dynamic_scaling dynamic{.initial_scale = 4, .growth_interval = 1, .ceiling = 20};
    STATIC_REQUIRE(scales(dynamic, "....X") == scale_array<5>{8, 16, 20, 20, 10});
    constexpr apex hysteresis{.initial_scale = 4, .growth_interval = 1, .hysteresis = 1, .ceiling = 20};
    STATIC_REQUIRE(scales(hysteresis, "....X") == scale_array<5>{8, 16, 20, 20, 10});
}

TEST_CASE("Growth and backoff factors other than two and a half are applied as given") {
    constexpr hs::dynamic_scaling dynamic{
        .initial_scale = 8, .growth_factor = 1.5f, .backoff_factor = 0.25f, .growth_interval = 2};
    STATIC_REQUIRE(scales(dynamic, "..X....") == scale_array<7>{8, 12, 3, 3, 4.5f, 4.5f, 6.75f});
    constexpr megatron hysteresis{
        .initial_scale = 8, .growth_factor = 1.5f, .backoff_factor = 0.25f, .growth_interval = 2, .hysteresis = 1};
    STATIC_REQUIRE(scales(hysteresis, "..X....") == scale_array<7>{8, 12, 3, 3, 4.5f, 4.5f, 6.75f});
}
