// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend refuses: policies that call the host, which nvcc compiles without a word, and ranks.
// case 1: halfstep: a loss scaling calls what only the host has; on CUDA its functions are constexpr
// case 2: halfstep: a gradient clipping calls what only the host has; on CUDA its functions are constexpr
// case 3: halfstep: an overflow detection calls what only the host has; on CUDA its functions are constexpr
// case 4: halfstep: an update rule, storage or state calls what only the host has; on CUDA their functions are constexpr
// case 5: halfstep: cuda_backend runs steps of one rank: a communicator would stop its stream to agree; give it self
#include <halfstep/cuda.cuh>

#include "in_case.hpp"

void on_the_host();

/// Makes a function one that a compiler can run, but in the case of its mistake.
template <int Mistake>
constexpr void perhaps_call() {
    if constexpr (Mistake == HALFSTEP_CASE) on_the_host();
}

struct scaling {
    using slot = hs::loss_scaling_slot;
    struct state {
        float scale = 8;
    };
    constexpr float scale(state const& s) const { return s.scale; }
    constexpr void update(state& s, hs::gradient_report const& r) const {
        perhaps_call<1>();
        if (r.overflowed) s.scale *= 0.5f;
    }
};
struct clipping {
    using slot = hs::gradient_clipping_slot;
    constexpr double factor(hs::gradient_norms const&) const {
        perhaps_call<2>();
        return 1;
    }
};
struct detection {
    using slot = hs::overflow_detection_slot;
    constexpr bool flags(float x) const {
        perhaps_call<3>();
        return hs::is_nonfinite(x);
    }
    constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
struct rule {
    using slot = hs::update_rule_slot;
    static constexpr int moments = 0;
    struct coefficients {
        float lr;
    };
    constexpr coefficients prepare(hs::rule_input const& in) const { return {in.lr}; }
    constexpr void update(coefficients const& c, float& p, float g, hs::values<float, 0>&) const {
        perhaps_call<4>();
        p = hs::fma(-c.lr, g, p);
    }
};
struct two_ranks {
    using slot = hs::communicator_slot;
    int rank() const { return 0; }
    int size() const { return 2; }
    void all_reduce(std::span<double>, hs::reduction) {}
    template <class T>
    void all_reduce_mean(std::span<T>) {}
    template <class T>
    void broadcast(std::span<T>, int) {}
};

using recipe = hs::recipe<hs::fp16{}, rule{}, scaling{}, clipping{}, detection{}>;

void use(hs::tensor_view<hs::fp16> p, hs::tensor_view<hs::fp16> g) {
#if HALFSTEP_CASE == 5
    hs::optimizer_step opt{recipe{}, hs::cuda_backend{}, two_ranks{}};
#else
    hs::optimizer_step opt{recipe{}, hs::cuda_backend{}};
#endif
    opt.bind(p, g);
    opt.step(0.1f);
}
