// SPDX-License-Identifier: Apache-2.0
// A stranger's program: three steps in fp16, the second of which overflows, and every bit of what they leave. The same
// line on every machine and however the headers were found.
#include <cstdint>
#include <cstdio>
#include <vector>

#ifdef SINGLE_HEADER
#include <halfstep/single/halfstep.hpp>
#else
#include <halfstep/halfstep.hpp>
#endif

namespace hs = halfstep;

int main() {
    std::vector<hs::fp16> parameters(100), gradients(100);
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, hs::adamw{}, hs::clip_by_norm{.max_norm = 0.5f}>{}};
    for (std::size_t i = 0; i < parameters.size(); ++i)
        parameters[i] = hs::fp16(0.25f + 0.125f * static_cast<float>(i));
    opt.bind(parameters, gradients);
    for (int step = 0; step < 3; ++step) {
        for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = hs::fp16(static_cast<float>(i) - 31.5f);
        if (step == 1) gradients[71] = hs::fp16::from_bits(0x7C00);  // inf
        opt.step(1e-2f);
    }
    std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
    for (hs::fp16 p : parameters) hash = (hash ^ p.bits) * 0x100000001B3u;
    std::printf("halfstep %d.%d: %d applied, %d skipped, next scale %g, parameters %016llx\n", HALFSTEP_VERSION_MAJOR,
                HALFSTEP_VERSION_MINOR, static_cast<int>(opt.applied_steps()), static_cast<int>(opt.skipped_steps()),
                static_cast<double>(opt.loss_scale()), static_cast<unsigned long long>(hash));
}
