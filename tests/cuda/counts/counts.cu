// SPDX-License-Identifier: Apache-2.0
// Makes STEPS steps of a recipe on one tensor of N elements, under counters (tests/cuda_counts.sh).
//
//   counts RECIPE composed|graph|moved|hand N STEPS
//   counts RECIPE compare N STEPS
//
// graph: captured once, replayed. moved: gradients at new addresses each step. compare: composed and by hand, and says
// how far apart the parameters are.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <zero_overhead/recipes.hpp>

#include <cuda/device_array.hpp>
#include <halfstep/cuda.cuh>

#include "hand.cuh"

using namespace overhead;

namespace {

void check(cudaError_t code) { hs::cuda_detail::check(code, "a call of the counting program"); }

template <class T>
std::vector<T> pattern(std::int64_t n, float magnitude) {
    std::vector<T> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] =
            hs::narrow<T>(magnitude * static_cast<float>(static_cast<int>(i * 2654435761u >> 20) % 2048 - 1024) / 1024);
    return values;
}

inline constexpr float lr = 1e-3f;

/// A step of `Recipe`, composed.
template <class Recipe, class T>
std::vector<T> composed(std::string const& way, std::int64_t n, int steps, float magnitude) {
    const auto size = static_cast<std::size_t>(n);
    device_array<T> parameters(size), gradients(size);
    parameters.write(pattern<T>(n, 1));
    gradients.write(pattern<T>(n, magnitude));
    cudaStream_t stream;
    check(cudaStreamCreate(&stream));
    {
        hs::optimizer_step opt{Recipe{}, hs::cuda_backend{stream}};
        const hs::tensor_view<T> p(parameters.data(), {n});
        const hs::tensor_view<T const> g(gradients.data(), {n});
        opt.bind(p, g);
        if (way == "graph") {
            cudaGraph_t graph;
            cudaGraphExec_t executable;
            check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
            opt.step(lr);
            check(cudaStreamEndCapture(stream, &graph));
            check(cudaGraphInstantiate(&executable, graph, 0));
            for (int t = 0; t < steps; ++t) check(cudaGraphLaunch(executable, stream));
            check(cudaGraphExecDestroy(executable));
            check(cudaGraphDestroy(graph));
        } else {
            for (int t = 0; t < steps; ++t) {
                if (way == "moved") opt.bind_gradients(g);
                opt.step(lr);
            }
        }
        if (!opt.read_back().applied || opt.applied_steps() != steps) std::exit(3);
    }
    check(cudaStreamDestroy(stream));
    return parameters.read();
}

hand::decision numbers(int t, float beta2, float weight_decay) {
    const double first = 1 - std::pow(static_cast<double>(0.9f), t),
                 second = 1 - std::pow(static_cast<double>(beta2), t);
    const hs::noise_key key = hs::make_noise_key(0, static_cast<std::uint64_t>(t), 0, 0);
    return {1,
            0.9f,
            static_cast<float>(1 - static_cast<double>(0.9f)),
            beta2,
            static_cast<float>(1 - static_cast<double>(beta2)),
            1e-8f,
            weight_decay,
            static_cast<float>(-static_cast<double>(lr) / first),
            static_cast<float>(1 / std::sqrt(second)),
            lr,
            1,
            1,
            key.before,
            key.between};
}

struct hand_recipe {
    float beta2, scale;
    bool inspects, decays_parameter;  ///< weight decay as a factor of the parameter
    float weight_decay;
    float bound = lr;  ///< of clipping by value
};

/// The same by hand: check or norm, decision, update.
template <class Rule, class T, bool Norm, bool Master, int Moments, bool Compensates>
std::vector<T> by_hand(hand_recipe const& r, std::int64_t n, int steps, float magnitude) {
    const auto size = static_cast<std::size_t>(n);
    device_array<T> parameters(size), gradients(size), compensation(Compensates ? size : 0);
    device_array<float> master(Master ? size : 0), m(size), v(Moments == 2 ? size : 0);
    const std::int64_t blocks = (n + hand::block_elements - 1) / hand::block_elements;
    device_array<float> sums(static_cast<std::size_t>(blocks));
    device_array<unsigned> flags(static_cast<std::size_t>(blocks));
    device_array<hand::decision> decided(1);
    const auto start = pattern<T>(n, 1);
    parameters.write(start);
    gradients.write(pattern<T>(n, magnitude));
    if constexpr (Master) {
        std::vector<float> wide(start.size());
        std::transform(start.begin(), start.end(), wide.begin(), [](T x) { return hs::widen(x); });
        master.write(wide);
    }
    using native = std::conditional_t<std::is_same_v<T, hs::fp16>, __half,
                                      std::conditional_t<std::is_same_v<T, hs::bf16>, __nv_bfloat16, float>>;
    const hand::arrays a{
        gradients.data(), parameters.data(), master.data(), m.data(), v.data(), compensation.data(), n};
    for (int t = 1; t <= steps; ++t) {
        hand::decision d = numbers(t, r.beta2, r.weight_decay);
        if (r.decays_parameter)
            d.decay = static_cast<float>(1 - static_cast<double>(lr) * static_cast<double>(r.weight_decay));
        if (Compensates) d.lr = r.bound;
        if (r.inspects)
            hand::inspect<native, Norm><<<static_cast<unsigned>((blocks + 31) / 32), 256>>>(
                static_cast<native const*>(a.gradient), n, sums.data(), flags.data());
        hand::decide<Norm><<<1, 256>>>(sums.data(), flags.data(), r.inspects ? static_cast<int>(blocks) : 0, d, r.scale,
                                       decided.data());
        hand::update<Rule, native, Master, Moments, Compensates>
            <<<static_cast<unsigned>(blocks), 256>>>(a, decided.data());
        check(cudaGetLastError());
    }
    check(cudaDeviceSynchronize());
    return parameters.read();
}

using bf16_master_unchecked = hs::recipe<hs::bf16{}, hs::adamw{}, hs::no_check{}>;

struct decayed;
struct undecayed;
struct slow;
using three_groups =
    hs::recipe<hs::group<decayed, hs::fp16>{}, hs::group<undecayed, hs::fp16>{.weight_decay_factor = 0},
               hs::group<slow, hs::fp16>{.lr_factor = 0.1f}, hs::adamw{}, hs::dynamic_scaling{}>;

/// Three groups of one element layout, each of two tensors.
void run_three_groups(std::int64_t n, int steps) {
    device_array<hs::fp16> parameters(static_cast<std::size_t>(6 * n)), gradients(static_cast<std::size_t>(6 * n));
    gradients.write(pattern<hs::fp16>(6 * n, 655));
    device_stream stream;
    hs::optimizer_step opt{three_groups{}, hs::cuda_backend{stream}};
    const auto two = [&](auto* data, std::int64_t first) {
        using view = hs::tensor_view<std::remove_pointer_t<decltype(data)>>;
        return std::vector{view(data + first * n, {n}), view(data + (first + 1) * n, {n})};
    };
    opt.bind<decayed>(two(parameters.data(), 0), two(gradients.data(), 0));
    opt.bind<undecayed>(two(parameters.data(), 2), two(gradients.data(), 2));
    opt.bind<slow>(two(parameters.data(), 4), two(gradients.data(), 4));
    for (int t = 0; t < steps; ++t) opt.step(lr);
    if (opt.read_back().applied_steps != steps) std::exit(3);
}

template <class Composed, class Hand>
int run(std::string const& way, Composed composed, Hand hand) {
    if (way == "hand") {
        hand();
    } else if (way == "compare") {
        const auto ours = composed(), theirs = hand();
        double worst = 0, moved = 0;
        const auto start = pattern<std::remove_cvref_t<decltype(ours[0])>>(static_cast<std::int64_t>(ours.size()), 1);
        std::int64_t different = 0;
        for (std::size_t i = 0; i < ours.size(); ++i) {
            worst = std::max(worst, static_cast<double>(std::fabs(hs::widen(ours[i]) - hs::widen(theirs[i]))));
            moved = std::max(moved, static_cast<double>(std::fabs(hs::widen(ours[i]) - hs::widen(start[i]))));
            different += hs::widen(ours[i]) != hs::widen(theirs[i]);
        }
        std::printf("moved %g, apart %g, different %lld of %zu\n", moved, worst, static_cast<long long>(different),
                    ours.size());
        // Norms are added in another order, so a clip factor may differ in its last bit, and here and there a
        // parameter's rounding.
        return moved > 1e-4 && worst <= 0x1p-10 && different * 1000 <= static_cast<std::int64_t>(ours.size()) ? 0 : 4;
    } else {
        composed();
    }
    return 0;
}

int run(std::string const& recipe, std::string const& way, std::int64_t n, int steps) {
    const float scaled = 65536 * 0.01f;
    if (recipe == "fp16_adamw_clip")
        return run(
            way, [&] { return composed<fp16_adamw_clip, hs::fp16>(way, n, steps, scaled); },
            [&] {
                return by_hand<hand::adamw_master, hs::fp16, true, true, 2, false>({0.999f, 65536, true, true, 0.01f},
                                                                                   n, steps, scaled);
            });
    if (recipe == "fp16_adamw")
        return run(
            way, [&] { return composed<fp16_adamw, hs::fp16>(way, n, steps, scaled); },
            [&] {
                return by_hand<hand::adamw_master, hs::fp16, false, true, 2, false>({0.999f, 65536, true, true, 0.01f},
                                                                                    n, steps, scaled);
            });
    if (recipe == "bf16_stochastic")
        return run(
            way, [&] { return composed<bf16_stochastic, hs::bf16>(way, n, steps, 0.01f); },
            [&] {
                return by_hand<hand::adamw_stochastic, hs::bf16, false, false, 2, false>({0.999f, 1, true, true, 0.01f},
                                                                                         n, steps, 0.01f);
            });
    if (recipe == "float_momentum")
        return run(
            way, [&] { return composed<float_momentum, float>(way, n, steps, 1); },
            [&] {
                return by_hand<hand::momentum, float, false, false, 1, false>({0.999f, 1, false, false, 1e-4f}, n,
                                                                              steps, 1);
            });
    if (recipe == "bf16_lion")
        return run(
            way, [&] { return composed<bf16_lion, hs::bf16>(way, n, steps, 0.01f); },
            [&] {
                return by_hand<hand::lion_master, hs::bf16, false, true, 1, false>({0.99f, 1, true, true, 0.1f}, n,
                                                                                   steps, 0.01f);
            });
    if (recipe == "fp16_kahan")
        return run(
            way, [&] { return composed<fp16_kahan, hs::fp16>(way, n, steps, scaled); },
            [&] {
                return by_hand<hand::adam_kahan, hs::fp16, false, false, 2, true>({0.999f, 65536, true, false, 0, 1}, n,
                                                                                  steps, scaled);
            });
    if (recipe == "three_groups" && way == "composed") {
        run_three_groups(n, steps);
        return 0;
    }
    if (recipe == "bf16_master_unchecked" && way != "hand" && way != "compare") {
        composed<bf16_master_unchecked, hs::bf16>(way, n, steps, 0.01f);
        return 0;
    }
    std::fprintf(stderr, "no such recipe, or no hand-written step for it\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    try {
        return run(argv[1], argv[2], std::atoll(argv[3]), std::atoi(argv[4]));
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
