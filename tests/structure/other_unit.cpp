// SPDX-License-Identifier: Apache-2.0
#include <halfstep/halfstep.hpp>

#include "structure/units.hpp"

namespace units {

void step_in_the_other_file(std::vector<float>& parameters, std::vector<float> const& gradients) {
    halfstep::optimizer_step opt{recipe{}};
    opt.bind(parameters, gradients);
    opt.step(1.0f);
}
float const* address_in_the_other_file() { return &weight_decay_of<recipe>; }

}  // namespace units
