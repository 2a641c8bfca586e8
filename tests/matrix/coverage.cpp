// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch.hpp>
#include <matrix/recipes.hpp>
#include <set>
#include <string>

using namespace matrix;

TEST_CASE("every pair of values of two axes is in a recipe, but those that no recipe may hold", "[matrix]") {
    std::set<std::string> missing;
    for (int a = 0; a < 6; ++a)
        for (int b = a + 1; b < 6; ++b)
            for (int x = 0; x < axis_sizes[a]; ++x)
                for (int y = 0; y < axis_sizes[b]; ++y) {
                    bool found = false;
                    for (int i = 0; i < recipe_count; ++i)
                        found = found || (entry_at(i).value[a] == x && entry_at(i).value[b] == y);
                    if (!found) missing.insert(std::string(value_names[a][x]) + " " + value_names[b][y]);
                }
    // By the rules between policies: a float is its own master; no_check goes with no narrow-range gradient, no scale
    // and no norm clipping; fp8_e4m3 has no infinity for exponent_check to see.
    const std::set<std::string> refused{"fp32_master float",
                                        "stochastic_rounding float",
                                        "kahan float",
                                        "no_check fp16",
                                        "no_check fp8_e4m3",
                                        "no_check fp8_e5m2",
                                        "no_check dynamic",
                                        "no_check static",
                                        "no_check hysteresis_on_growth",
                                        "no_check hysteresis_on_clean_step",
                                        "no_check clip_by_norm",
                                        "exponent_check fp8_e4m3"};
    REQUIRE(missing == refused);
}

TEST_CASE("no recipe is in the matrix twice", "[matrix]") {
    std::set<std::string> names;
    for (int i = 0; i < recipe_count; ++i) names.insert(name_of(entry_at(i)));
    REQUIRE(names.size() == recipe_count);
}
