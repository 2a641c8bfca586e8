// SPDX-License-Identifier: Apache-2.0
// The policies of custom_policy.hpp on the host.
//   step 1  scale 65536  skipped
//   step 2  scale 4096  applied
//   step 3  scale 4096  applied
//   step 4  scale 8192  applied
#include <cstdio>
#include <vector>

#include "custom_policy.hpp"

int main() {
    hs::optimizer_step opt{recipe{}};
    std::vector<hs::fp16> weights(1000, hs::fp16(1.0f)), gradients(1000);
    opt.bind(weights, gradients);
    for (int i = 0; i < 4; ++i) {
        for (auto& g : gradients) g = hs::fp16(0.5f * opt.loss_scale());  // what a backward pass would leave
        const hs::step_record r = opt.step(0.1f);
        std::printf("step %d  scale %.0f  %s\n", i + 1, static_cast<double>(r.loss_scale),
                    r.applied ? "applied" : "skipped");
    }
}
