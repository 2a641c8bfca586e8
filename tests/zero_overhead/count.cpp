// SPDX-License-Identifier: Apache-2.0
// Makes STEPS steps of a recipe, `composed` or by `hand`, on N elements, under an instruction counter
// (tests/zero_overhead.sh).
//   count RECIPE composed|hand N STEPS
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <halfstep/halfstep.hpp>

#include "hand.hpp"
#include "recipes.hpp"

using namespace overhead;

namespace {

int steps = 1;

struct data {
    explicit data(std::int64_t n)
        : gradient16(static_cast<std::size_t>(n) + 8192),
          parameter16(gradient16.size()),
          compensation(gradient16.size()),
          gradient32(gradient16.size()),
          parameter32(gradient16.size()),
          master(gradient16.size()),
          m(gradient16.size()),
          v(gradient16.size()),
          n(n) {}
    std::vector<std::uint16_t> gradient16, parameter16, compensation;
    std::vector<float> gradient32, parameter32, master, m, v;
    std::int64_t n;
};

template <class Recipe, class T>
bool composed(data& d, T* parameters, T const* gradients) {
    hs::optimizer_step opt{Recipe{}, hs::host_backend{.threads = 1, .stream_above_bytes = std::int64_t{1} << 60}};
    opt.bind(hs::tensor_view<T>(parameters, {d.n}), hs::tensor_view<T const>(gradients, {d.n}));
    bool applied = true;
    for (int t = 1; t <= steps; ++t) applied = opt.step(1e-3f).applied && applied;
    return applied;
}
template <class Recipe, class T>
bool composed16(data& d) {
    return composed<Recipe>(d, reinterpret_cast<T*>(d.parameter16.data()),
                            reinterpret_cast<T const*>(d.gradient16.data()));
}

using hand_step = bool (*)(hand::arrays, float, int);
bool by_hand(data& d, hand_step step) {
    const hand::arrays a{d.gradient16.data(),  d.gradient32.data(),   d.parameter16.data(),
                         d.parameter32.data(), d.master.data(),       d.m.data(),
                         d.v.data(),           d.compensation.data(), d.n};
    bool applied = true;
    for (int t = 1; t <= steps; ++t) applied = step(a, 1e-3f, t) && applied;
    return applied;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    const std::string recipe = argv[1];
    const bool hand = std::strcmp(argv[2], "hand") == 0;
    data d(std::atoll(argv[3]));
    steps = std::atoi(argv[4]);
    bool applied = false;
    if (recipe == "fp16_adamw_clip")
        applied = hand ? by_hand(d, hand::fp16_adamw_clip) : composed16<fp16_adamw_clip, hs::fp16>(d);
    else if (recipe == "fp16_adamw")
        applied = hand ? by_hand(d, hand::fp16_adamw) : composed16<fp16_adamw, hs::fp16>(d);
    else if (recipe == "bf16_stochastic")
        applied = hand ? by_hand(d, hand::bf16_stochastic) : composed16<bf16_stochastic, hs::bf16>(d);
    else if (recipe == "float_momentum")
        applied =
            hand ? by_hand(d, hand::float_momentum)
                 : composed<float_momentum>(d, d.parameter32.data(), static_cast<float const*>(d.gradient32.data()));
    else if (recipe == "bf16_lion")
        applied = hand ? by_hand(d, hand::bf16_lion) : composed16<bf16_lion, hs::bf16>(d);
    else if (recipe == "fp16_kahan")
        applied = hand ? by_hand(d, hand::fp16_kahan) : composed16<fp16_kahan, hs::fp16>(d);
    return applied ? 0 : 1;
}
