// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <limits>
#include <step/helpers.hpp>

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
using view = hs::tensor_view<float>;

}  // namespace

TEST_CASE("a report on each tensor says which one overflowed and how large the others are", "[step]") {
    std::vector<float> a(9000, 1.0f), b(10, 1.0f), c(70, 1.0f), d(5, 1.0f);
    std::vector<float> ga(9000, 2.0f), gb(10, 0.5f), gc(70, 3.0f);
    gc[69] = -infinity;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::adamw{}, hs::nonfinite_check{}, hs::clip_by_norm{}>{}};
    step.bind(std::array{view(a), view(b), view(c), view(d)},
              std::array{view(ga), view(gb), view(gc), view(nullptr, {5})});
    REQUIRE(!step.step(0.1f).applied);
    const auto reports = step.tensor_reports<hs::everything>();
    REQUIRE(reports.size() == 4);
    REQUIRE((!reports[0].flagged && !reports[1].flagged && reports[2].flagged && !reports[3].flagged));
    REQUIRE(reports[0].sum_of_squares == 36000);
    REQUIRE(reports[1].sum_of_squares == 2.5);
    REQUIRE(reports[3].sum_of_squares == 0);
}

TEST_CASE("a tensor without elements has an empty report in its place", "[step]") {
    std::vector<float> a(3, 1.0f), none, ga(3, infinity);
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>{}};
    step.bind(std::array{view(none), view(a)}, std::array{view(none), view(ga)});
    step.step(0.1f);
    const auto reports = step.tensor_reports<hs::everything>();
    REQUIRE((reports.size() == 2 && !reports[0].flagged && reports[1].flagged));
}
