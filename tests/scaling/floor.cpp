// SPDX-License-Identifier: Apache-2.0
// What happens where the loss scale can fall no further.
#include <unistd.h>

#include <catch.hpp>
#include <cstdio>
#include <scaling/drive.hpp>
#include <scaling/one_weight.hpp>
#include <stdexcept>
#include <string>

namespace hs = halfstep;
using drive::scale_array;
using drive::scales;

namespace {

template <hs::at_floor Action>
using at_1 =
    hs::recipe<hs::fp16{}, hs::sgd<>{},
               hs::hysteresis_scaling<>{.initial_scale = 4, .hysteresis = 1, .floor = 1, .floor_action = Action}>;

/// What `f` writes to the standard error stream.
template <class F>
std::string stderr_of(F&& f) {
    std::fflush(stderr);
    std::FILE* file = std::tmpfile();
    const int screen = dup(fileno(stderr));
    dup2(fileno(file), fileno(stderr));
    f();
    std::fflush(stderr);
    dup2(screen, fileno(stderr));
    close(screen);
    std::rewind(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
    std::fclose(file);
    return text;
}

}  // namespace

TEST_CASE("An overflow never takes the scale below its floor") {
    STATIC_REQUIRE(scales(hs::dynamic_scaling{.initial_scale = 4, .floor = 1}, "XXX") == scale_array<3>{2, 1, 1});
    STATIC_REQUIRE(scales(hs::hysteresis_scaling<>{.initial_scale = 4, .hysteresis = 1, .floor = 1}, "XXX") ==
                   scale_array<3>{2, 1, 1});
    // A step that would jump over the floor lands on it.
    STATIC_REQUIRE(scales(hs::dynamic_scaling{.initial_scale = 4, .floor = 3}, "XX") == scale_array<2>{3, 3});
}

TEST_CASE("The floor may be a fraction") {
    constexpr scale_array<6> expected{0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.03125f};
    STATIC_REQUIRE(scales(hs::dynamic_scaling{.initial_scale = 1, .floor = 0x1p-5f}, "XXXXXX") == expected);
    STATIC_REQUIRE(scales(hs::hysteresis_scaling<>{.initial_scale = 1, .hysteresis = 1, .floor = 0x1p-5f}, "XXXXXX") ==
                   expected);
}

TEST_CASE("Without a floor of its own the scale stops at 2^-127, whose reciprocal is still finite") {
    constexpr auto after_40 = [](auto const& policy) {
        return scales(policy, "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX").back();
    };
    STATIC_REQUIRE(after_40(hs::dynamic_scaling{.initial_scale = 0x1p-120f}) == 0x1p-127f);
    STATIC_REQUIRE(after_40(hs::hysteresis_scaling<>{
                       .initial_scale = 0x1p-120f, .hysteresis = 1, .floor = 0x1p-127f}) == 0x1p-127f);
    STATIC_REQUIRE(1 / 0x1p-127f == 0x1p127f);
}

TEST_CASE("166 overflows in a row do not kill a run") {
    // PyTorch's scale is exactly 0 after so many, and every later step is on NaN.
    one_weight run(hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::dynamic_scaling{.growth_interval = 1}>{});
    const hs::fp16 before = run.weight();
    for (int i = 0; i < 166; ++i) REQUIRE_FALSE(run.step('X').applied);
    CHECK(run.optimizer().loss_scale() == 0x1p-127f);
    CHECK(run.weight() == before);
    CHECK(run.optimizer().skipped_steps() == 166);
    // From there it grows back, each step finite. The gradients vanish in fp16 until the scale is large again.
    for (int i = 0; i < 143; ++i) {
        REQUIRE(run.step('.').applied);
        REQUIRE_FALSE(hs::is_nonfinite(hs::widen(run.weight())));
    }
    CHECK(run.optimizer().loss_scale() == 0x1p16f);
    CHECK(run.weight() != before);
}

TEST_CASE("At the floor, hold skips the step and says nothing") {
    one_weight run(at_1<hs::at_floor::hold>{});
    const std::string text = stderr_of([&] {
        for (float expected : {2.0f, 1.0f, 1.0f, 1.0f}) {
            const hs::step_record record = run.step('X');
            CHECK_FALSE(record.applied);
            CHECK(record.next_loss_scale == expected);
        }
    });
    CHECK(text.empty());
    CHECK(run.optimizer().skipped_steps() == 4);
}

TEST_CASE("At the floor, warn writes one line for each overflow") {
    one_weight run(at_1<hs::at_floor::warn>{});
    CHECK(stderr_of([&] { run.step('X'), run.step('X'); }).empty());
    const std::string warning =
        "halfstep: overflow with the loss scale at its floor of 1.000000; the step was skipped\n";
    CHECK(stderr_of([&] { CHECK_FALSE(run.step('X').applied); }) == warning);
    CHECK(stderr_of([&] { CHECK(run.step('.').applied); }).empty());
    CHECK(stderr_of([&] { run.step('X'), run.step('X'); }) == warning + warning);
}

TEST_CASE("At the floor, raise throws after a step that is complete") {
    one_weight run(at_1<hs::at_floor::raise>{});
    run.step('X'), run.step('X');
    const hs::fp16 before = run.weight();
    CHECK_THROWS_AS(run.step('X'), std::runtime_error);
    CHECK(run.weight() == before);
    CHECK(run.optimizer().loss_scale() == 1);
    CHECK(run.optimizer().skipped_steps() == 3);
    CHECK_FALSE(run.optimizer().last().applied);
    CHECK(run.optimizer().last().step == 3);
    try {
        run.step('X');
        FAIL("the floor did not raise");
    } catch (std::runtime_error const& error) {
        CHECK(std::string(error.what()) ==
              "halfstep: overflow with the loss scale at its floor of 1.000000; the step was skipped");
    }
    // Who catches it can go on.
    CHECK(run.step('.').applied);
    CHECK(run.optimizer().applied_steps() == 1);
}

TEST_CASE("Spending hysteresis at the floor is not yet an event") {
    constexpr hs::hysteresis_scaling<> scaling{
        .initial_scale = 1, .hysteresis = 3, .floor = 1, .floor_action = hs::at_floor::raise};
    STATIC_REQUIRE(drive::events(scaling, "XXX") ==
                   std::array{hs::scaling_event::none, hs::scaling_event::none, hs::scaling_event::raise_at_floor});
}
