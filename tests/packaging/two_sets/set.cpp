// SPDX-License-Identifier: Apache-2.0
// Compiled twice, for two instruction sets, under two names.
#include "set.hpp"

#include <cstring>
#include <vector>

#include <halfstep/halfstep.hpp>

namespace hs = halfstep;

set_result TWO_SETS_NAME() {
    using recipe =
        hs::recipe<hs::bf16{}, hs::adamw{}, hs::stochastic_rounding{.seed = 7}, hs::norm_check{}, pack_witness{}>;
    std::vector<hs::bf16> parameters(5000 + 13), gradients(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i] = hs::bf16(0.25f + 0.125f * static_cast<float>(i % 97));
        gradients[i] = hs::bf16(static_cast<float>(i % 61) - 31.5f);
    }
    hs::optimizer_step opt{recipe{}, hs::host_backend{.threads = 1}};
    opt.bind(parameters, gradients);
    pack_seen = 0;
    std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
    for (int step = 0; step < 3; ++step) {
        const double norm = opt.step(1e-2f).gradient_norm;
        std::uint64_t bits;
        std::memcpy(&bits, &norm, sizeof bits);
        hash = (hash ^ bits) * 0x100000001B3u;
    }
    for (hs::bf16 p : parameters) hash = (hash ^ p.bits) * 0x100000001B3u;
    return {hash, pack_seen, sizeof(hs::host::lanes)};
}
