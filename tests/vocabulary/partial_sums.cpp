// SPDX-License-Identifier: Apache-2.0
// The order in which partial results are added: bits of the gradient norm hang on it.
#include <catch.hpp>
#include <cmath>
#include <halfstep/core/layout.hpp>
#include <halfstep/host/chain_sum.hpp>
#include <limits>
#include <vector>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;

namespace {

/// Partials whose double sum depends on the order: magnitudes so far apart that a double cannot hold them together.
std::vector<hs::segment_partial> rough_partials(std::size_t count) {
    patterns::random_words random(count + 1);
    std::vector<hs::segment_partial> x(count);
    for (auto& partial : x)
        partial.sum_of_squares = std::ldexp(static_cast<float>(random() >> 8), static_cast<int>(random() % 60) - 30);
    return x;
}

/// The stated order, word for word: partial i to chain i mod 256, 32 chains pairwise with neighbours first, then one
/// after another.
double sum_as_stated(std::vector<hs::segment_partial> const& x) {
    double chain[256] = {};
    for (std::size_t i = 0; i < x.size(); ++i) chain[i % 256] += static_cast<double>(x[i].sum_of_squares);
    double total = 0;
    for (int warp = 0; warp < 8; ++warp) {
        std::vector<double> level(chain + 32 * warp, chain + 32 * (warp + 1));
        while (level.size() > 1) {
            std::vector<double> next;
            for (std::size_t i = 0; i < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
            level = next;
        }
        total += level[0];
    }
    return total;
}

hs::gradient_report fold(std::vector<hs::segment_partial> const& x, std::size_t cut = 0) {
    hs::partial_fold fold;
    fold.add(x.data(), static_cast<std::int64_t>(cut));
    fold.add(x.data() + cut, static_cast<std::int64_t>(x.size() - cut));
    return fold.result();
}

}  // namespace

TEST_CASE("partial sums are added in the stated order, however many there are") {
    for (std::size_t count : {0u, 1u, 2u, 31u, 32u, 33u, 64u, 255u, 256u, 257u, 300u, 512u, 1000u, 100000u}) {
        const auto x = rough_partials(count);
        CAPTURE(count);
        REQUIRE(fold(x).sum_of_squares == sum_as_stated(x));
        if (count == 0) continue;
        // The inputs are rough enough that another order gives other bits.
        double straight = 0;
        for (auto const& partial : x) straight += static_cast<double>(partial.sum_of_squares);
        if (count >= 1000) REQUIRE(fold(x).sum_of_squares != straight);
        for (std::size_t cut : {std::size_t{1}, count / 2, count - 1})
            REQUIRE(fold(x, cut).sum_of_squares == fold(x).sum_of_squares);
    }
}

TEST_CASE("a flag and the largest magnitude are found wherever they stand") {
    for (std::size_t count : {1u, 32u, 256u, 257u, 1000u})
        for (std::size_t place : {std::size_t{0}, count / 2, count - 1}) {
            std::vector<hs::segment_partial> x(count);
            REQUIRE(!fold(x).flagged);
            REQUIRE(fold(x).largest_magnitude == 0);
            x[place].flagged = 1;
            x[place].largest_magnitude = 3.5f;
            REQUIRE(fold(x).flagged);
            REQUIRE(fold(x).largest_magnitude == 3.5f);
            x[place].sum_of_squares = std::numeric_limits<float>::quiet_NaN();
            REQUIRE(std::isnan(fold(x).sum_of_squares));
        }
}

TEST_CASE("the fold runs in constant expressions") {
    constexpr auto report = [] {
        hs::segment_partial partials[3] = {{1, 2, 0}, {4, 8, 1}, {16, 4, 0}};
        hs::partial_fold fold;
        fold.add(partials, 3);
        return fold.result();
    }();
    STATIC_REQUIRE(report.sum_of_squares == 21 && report.flagged && report.largest_magnitude == 8);
}

TEST_CASE("64 chains are added pairwise, neighbours first") {
    patterns::random_words random(5);
    for (int repeat = 0; repeat < 1000; ++repeat) {
        std::vector<float> level(hs::sum_chains);
        for (float& x : level)
            x = std::ldexp(1 + static_cast<float>(random() % 4096) / 4096, static_cast<int>(random() % 24));
        const float actual = hs::host::sum_chains_in_order(level.data());
        while (level.size() > 1) {
            std::vector<float> next;
            for (std::size_t i = 0; i < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
            level = next;
        }
        REQUIRE(actual == level[0]);
    }
}

TEST_CASE("segments cover every element, beyond 2^31 of them too") {
    STATIC_REQUIRE(hs::segments_of(0) == 0 && hs::segments_of(1) == 1 && hs::segments_of(4096) == 1);
    STATIC_REQUIRE(hs::segments_of(4097) == 2);
    STATIC_REQUIRE(hs::segments_of((std::int64_t{1} << 31) + 1) == (1 << 19) + 1);
    STATIC_REQUIRE(hs::segments_of(std::numeric_limits<std::int64_t>::max()) == std::int64_t{1} << 51);
}
