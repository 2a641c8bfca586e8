// SPDX-License-Identifier: Apache-2.0
/// What the two files of structure_two_units have in common.
#pragma once

#include <halfstep/halfstep.hpp>
#include <vector>

namespace units {

using recipe = halfstep::recipe<halfstep::dtype<float>{}, halfstep::sgd<>{.weight_decay = 0.5f}>;
/// One object in the whole program: the recipe is one type in both files.
template <class Recipe>
inline constexpr float weight_decay_of = Recipe::template value<halfstep::sgd<>>().weight_decay;

void step_in_the_other_file(std::vector<float>& parameters, std::vector<float> const& gradients);
float const* address_in_the_other_file();

}  // namespace units
