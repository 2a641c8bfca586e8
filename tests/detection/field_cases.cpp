// SPDX-License-Identifier: Apache-2.0
// Faults of overflow detection that others met in public, as tests.
#include <array>
#include <catch.hpp>
#include <cmath>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

/// Asks for nothing but the largest magnitude, and flags NaN, which has none.
struct absmax_probe {
    using slot = hs::overflow_detection_slot;
    static constexpr hs::gradient_statistics needs{.largest_magnitude = true};
    template <class Real>
    static constexpr auto flags(Real gradient) {
        return gradient != gradient;
    }
    constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};

struct weights;
template <class T>
hs::gradient_report absmax(std::vector<T> const& gradients) {
    using recipe =
        hs::recipe<hs::group<weights, float, T>{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 1}, absmax_probe{}>;
    std::vector<float> parameters(gradients.size());
    hs::optimizer_step opt{recipe{}};
    opt.bind(parameters, gradients);
    opt.step(0.0f);
    return opt.template report<weights>();
}

std::vector<std::byte> all_state(auto& opt) {
    std::vector<std::byte> bytes;
    opt.visit_state([&](hs::state_entry const& entry) {
        if (entry.component != "control") bytes.insert(bytes.end(), entry.bytes.begin(), entry.bytes.end());
    });
    return bytes;
}

}  // namespace

TEST_CASE("field case 2.1: every element of every tensor is checked") {
    using recipe =
        hs::recipe<hs::dtype<float>{}, hs::adamw{}, hs::dynamic_scaling{.initial_scale = 1024, .backoff_factor = 0.5f}>;
    const std::vector<std::vector<float>> cases[] = {
        {{1, 2}, {3, infinity}, {4}}, {{1}, {2}, {not_a_number}}, {{1}, {-infinity}, {2}}};
    for (auto const& gradients : cases) {
        std::vector<std::vector<float>> parameters;
        for (auto const& gradient : gradients) parameters.emplace_back(gradient.size(), 1.0f);
        const auto before = parameters;
        hs::optimizer_step opt{recipe{}};
        opt.bind(parameters, gradients);
        const auto state = all_state(opt);
        const auto record = opt.step(0.1f);
        REQUIRE(!record.applied);
        REQUIRE(record.applied_steps == 0);
        REQUIRE(record.skipped_steps == 1);
        REQUIRE(record.loss_scale == 1024);
        REQUIRE(opt.loss_scale() == 512);
        REQUIRE(parameters == before);
        REQUIRE(all_state(opt) == state);
    }
}

TEST_CASE("field case 2.1: a bad value in one group skips the step of all groups, first, middle or last") {
    struct first;
    struct middle;
    struct last;
    using recipe = hs::recipe<hs::group<first, float>{}, hs::group<middle, float, hs::bf16>{}, hs::group<last, float>{},
                              hs::sgd<>{}>;
    std::vector<float> a(5, 1.0f), b(5, 1.0f), c(5, 1.0f), a_gradient(5, 1.0f), c_gradient(5, 1.0f);
    std::vector<hs::bf16> b_gradient(5, hs::bf16(1.0f));
    hs::optimizer_step opt{recipe{}};
    opt.bind<first>(a, a_gradient);
    opt.bind<middle>(b, b_gradient);
    opt.bind<last>(c, c_gradient);
    const std::vector<float> before(5, 1.0f);
    const auto skipped = [&] { return !opt.step(0.5f).applied && a == before && b == before && c == before; };
    a_gradient[2] = not_a_number;
    REQUIRE(skipped());
    REQUIRE(opt.report<first>().flagged);
    REQUIRE(!opt.report<last>().flagged);
    a_gradient[2] = 1;
    b_gradient[4] = hs::bf16(infinity);
    REQUIRE(skipped());
    b_gradient[4] = hs::bf16(1.0f);
    c_gradient[0] = -infinity;
    REQUIRE(skipped());
    c_gradient[0] = 1;
    REQUIRE(opt.step(0.5f).applied);
    REQUIRE((a[0] == 0.5f && b[0] == 0.5f && c[0] == 0.5f));
}

TEST_CASE("field case 2.3: no loss scaling does not mean no check") {
    // A bf16 recipe that names no scaling and no detector.
    using recipe = hs::recipe<hs::bf16{}, hs::adam{}>;
    STATIC_REQUIRE(std::is_same_v<recipe::composition::scaling, hs::no_scaling>);
    std::vector<hs::bf16> parameters{hs::bf16(1.0f), hs::bf16(-2.0f)};
    std::vector<hs::bf16> gradients{hs::bf16(0.5f), hs::bf16(0.25f)};
    hs::optimizer_step opt{recipe{}};
    opt.bind(parameters, gradients);
    REQUIRE(opt.step(0.1f).applied);  // so that the moments are not zero

    gradients = {hs::bf16(1.0f), hs::bf16::from_bits(0x7F80)};
    const auto before = parameters;
    const auto state = all_state(opt);
    REQUIRE(opt.loss_scale() == 1);
    const auto record = opt.step(0.1f);
    REQUIRE(!record.applied);
    REQUIRE(record.skipped_steps == 1);
    REQUIRE(record.applied_steps == 1);
    REQUIRE(opt.skipped_steps() == 1);
    REQUIRE(opt.loss_scale() == 1);
    REQUIRE(parameters == before);
    REQUIRE(all_state(opt) == state);
}

TEST_CASE("field case 2.3: the check is a choice of its own, and so is to have none") {
    // The same bf16 recipe with no_check: the infinity goes into the weights, because that was asked for.
    using recipe = hs::recipe<hs::bf16{}, hs::sgd<>{}, hs::no_check{}>;
    std::vector<hs::bf16> parameters{hs::bf16(1.0f), hs::bf16(1.0f)};
    const std::vector<hs::bf16> gradients{hs::bf16(1.0f), hs::bf16::from_bits(0x7F80)};
    hs::optimizer_step opt{recipe{}};
    opt.bind(parameters, gradients);
    const auto record = opt.step(0.5f);
    REQUIRE(record.applied);
    REQUIRE(record.skipped_steps == 0);
    REQUIRE(hs::widen(parameters[0]) == 0.5f);
    REQUIRE(hs::widen(parameters[1]) == -infinity);
}

TEST_CASE("field case 10.5: the identity of an absmax is zero, its infinity is infinite, a NaN is not lost") {
    using hs::fp16;
    REQUIRE(absmax<fp16>({fp16(-3.0f), fp16(-1.0f)}).largest_magnitude == 3);
    REQUIRE(absmax<fp16>({fp16(-infinity)}).largest_magnitude == infinity);
    REQUIRE(absmax<fp16>({fp16(infinity), fp16(infinity), fp16(infinity)}).largest_magnitude == infinity);  // not 65504
    REQUIRE(hs::bits_of(absmax<fp16>({fp16::from_bits(0x8000)}).largest_magnitude) == 0);                   // +0
    REQUIRE(absmax<fp16>({fp16(not_a_number)}).flagged);
    REQUIRE(absmax<fp16>({fp16(1.0f), fp16(not_a_number)}).flagged);
    REQUIRE(absmax<fp16>({}).largest_magnitude == 0);
    REQUIRE(absmax<fp16>({fp16::from_bits(1)}).largest_magnitude == 0x1p-24f);
}

TEST_CASE("the largest magnitude is found at every place, of either sign") {
    using recipe = hs::recipe<hs::group<weights, float, hs::bf16>{}, hs::sgd<>{}, absmax_probe{}>;
    for (std::size_t size : {1u, 4u, 17u, 64u, 67u, 4097u}) {
        std::vector<float> parameters(size);
        std::vector<hs::bf16> gradients(size, hs::bf16(0.5f));
        hs::optimizer_step opt{recipe{}};
        opt.bind(parameters, gradients);
        for (std::size_t place = 0; place < size; ++place) {
            gradients[place] = hs::bf16(place % 2 == 0 ? 3.0f : -3.0f);
            opt.step(0.0f);
            gradients[place] = hs::bf16(0.5f);
            if (opt.report<weights>().largest_magnitude != 3) FAIL("place " << place << " of " << size);
        }
        opt.step(0.0f);
        REQUIRE(opt.report<weights>().largest_magnitude == 0.5f);
    }
}
