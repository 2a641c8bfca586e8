// SPDX-License-Identifier: Apache-2.0
// What may be bound: tensors of the group's type, that the step can write where it must, and that stay.
// case 1: halfstep: these parameters are not tensors of the group's dtype (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 2: halfstep: these parameters are not tensors of the group's dtype (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 3: halfstep: these parameters are not tensors of the group's dtype (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 4: halfstep: these parameters are not tensors of the group's dtype (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 5: halfstep: these parameters are not tensors of the group's dtype (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 6: halfstep: these gradients are not tensors of the group's gradient type (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 7: halfstep: these gradients are not tensors of the group's gradient type (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 8: halfstep: parameters are written; bind them from a range whose elements are not const
// case 9: halfstep: parameters are written; bind them from a range whose elements are not const
// case 10: halfstep: parameters are written; bind them from a range whose elements are not const
// case 11: halfstep: bind keeps addresses, and these parameters are gone after the call; bind a range that lives on
// case 12: halfstep: bind keeps addresses, and these parameters are gone after the call; bind a range that lives on
// case 13: halfstep: bind keeps addresses, and these gradients are gone after the call; bind a range that lives on
// case 14: halfstep: bind keeps addresses, and these gradients are gone after the call; bind a range that lives on
// case 15: halfstep: gradients of several ranks are averaged in place; bind them from a range whose elements are not const
// case 16: halfstep: this recipe has no parameter group with that tag
// case 17: halfstep: this recipe has no parameter group with that tag
// case 18: halfstep: this recipe has no parameter group with that tag
// case 19: halfstep: this recipe has no parameter group with that tag
// case 20: halfstep: this recipe has several groups; say which one, as bind<tag>(parameters, gradients)
// case 21: halfstep: this recipe has several groups; say which one, as bind<tag>(parameters)
// case 22: halfstep: this recipe has several groups; say which one, as bind_gradients<tag>(gradients)
// case 23: halfstep: a frozen group has no gradients; bind its parameters alone
// case 24: halfstep: a frozen group has no gradients to bind
// case 25: halfstep: a group that trains is bound with its gradients, as bind(parameters, gradients)
// case 26: halfstep: a group that trains is bound with its gradients, as bind(parameters, gradients)
// case 27: halfstep: these gradients are not tensors of the group's gradient type (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 28: halfstep: these parameters are not tensors of the group's dtype (or a type of the same bits); give a contiguous range, a tensor_view, or a range of them
// case 29: halfstep: tensor_reports: nothing in this recipe looks at the gradients of that group
#include <list>

#include "in_case.hpp"

struct backbone;
struct head;
struct ice;
struct elsewhere;

/// One of two; enough to compile against.
struct two_ranks {
    using slot = hs::communicator_slot;
    static constexpr int rank() { return 0; }
    static constexpr int size() { return 2; }
    void all_reduce(std::span<double>, hs::reduction) {}
    template <class T>
    void all_reduce_mean(std::span<T>) {}
    template <class T>
    void broadcast(std::span<T>, int) {}
};

using vector = std::vector<hs::fp16>;

void one_group() {
    hs::optimizer_step opt{hs::recipe<hs::fp16{}>{}};
    vector parameters(8), gradients(8);
    vector const fixed(8);
    std::vector<vector> many(2, vector(8)), many_gradients(2, vector(8));
    std::vector<hs::tensor_view<hs::fp16>> views{parameters};
    std::vector<hs::tensor_view<hs::fp16 const>> const_views{{parameters.data(), {8}}};
    std::vector<double> doubles(8);
    std::vector<hs::bf16> brain(8);
    std::list<hs::fp16> scattered(8);
#if HALFSTEP_CASE == 1
    opt.bind(doubles, gradients);
#elif HALFSTEP_CASE == 2
    opt.bind(brain, brain);
#elif HALFSTEP_CASE == 3
    opt.bind(parameters.data(), gradients.data());
#elif HALFSTEP_CASE == 4
    opt.bind(scattered, gradients);
#elif HALFSTEP_CASE == 5
    opt.bind(8, gradients);
#elif HALFSTEP_CASE == 6
    opt.bind(parameters, doubles);
#elif HALFSTEP_CASE == 7
    opt.bind_gradients(brain);
#elif HALFSTEP_CASE == 8
    opt.bind(fixed, gradients);
#elif HALFSTEP_CASE == 9
    opt.bind(std::span<hs::fp16 const>(parameters), gradients);
#elif HALFSTEP_CASE == 10
    opt.bind(const_views, views);
#elif HALFSTEP_CASE == 11
    opt.bind(vector(8), gradients);
#elif HALFSTEP_CASE == 12
    opt.bind(std::vector<vector>(2, vector(8)), many_gradients);
#elif HALFSTEP_CASE == 13
    opt.bind(parameters, vector(8));
#elif HALFSTEP_CASE == 14
    opt.bind_gradients(std::vector<vector>(2, vector(8)));
#elif HALFSTEP_CASE == 25
    opt.bind(parameters);
#else
    opt.bind(parameters, fixed);  // gradients are read
    opt.bind(std::span(parameters), std::span<hs::fp16 const>(gradients));
    opt.bind(hs::tensor_view(parameters.data(), {2, 4}, "weight"), hs::tensor_view(gradients.data(), {2, 4}));
    opt.bind(std::vector<hs::tensor_view<hs::fp16>>{parameters}, const_views);  // these views own nothing
    opt.bind(std::span(many), many_gradients);
    opt.bind(views, std::vector{std::span<hs::fp16 const>(fixed)});
    opt.bind_gradients(const_views);
#endif
}

void two_groups() {
    hs::optimizer_step opt{
        hs::recipe<hs::group<backbone, hs::fp16>{}, hs::group<head, float>{}, hs::frozen<ice, hs::bf16>{}>{}};
    vector parameters(8), gradients(8);
    std::vector<float> floats(8);
    std::vector<hs::bf16> frozen(8);
#if HALFSTEP_CASE == 16
    opt.bind<elsewhere>(parameters, gradients);
#elif HALFSTEP_CASE == 17
    opt.bind_gradients<elsewhere>(gradients);
#elif HALFSTEP_CASE == 18
    (void)opt.report<elsewhere>();
#elif HALFSTEP_CASE == 19
    static_assert(decltype(opt)::state_bytes<elsewhere>() > 0);
#elif HALFSTEP_CASE == 20
    opt.bind(floats, floats);
#elif HALFSTEP_CASE == 21
    opt.bind(frozen);
#elif HALFSTEP_CASE == 22
    opt.bind_gradients(floats);
#elif HALFSTEP_CASE == 23
    opt.bind<ice>(frozen, frozen);
#elif HALFSTEP_CASE == 24
    opt.bind_gradients<ice>(frozen);
#elif HALFSTEP_CASE == 26
    opt.bind<head>(floats);
#elif HALFSTEP_CASE == 27
    opt.bind<head>(floats, gradients);
#elif HALFSTEP_CASE == 28
    opt.bind<ice>(floats);
#elif HALFSTEP_CASE == 29
    (void)opt.tensor_reports<ice>();
#else
    opt.bind<backbone>(parameters, gradients);
    opt.bind<head>(floats, floats);
    opt.bind<ice>(frozen);
    opt.bind_gradients<head>(floats);
    (void)opt.report<ice>();
    static_assert(decltype(opt)::state_bytes<backbone>() == 12 && decltype(opt)::state_bytes<ice>() == 0);
#endif
}

void two_ranks_step() {
    hs::optimizer_step opt{hs::recipe<hs::fp16{}>{}, two_ranks{}};
    vector parameters(8), gradients(8);
    vector const fixed(8);
#if HALFSTEP_CASE == 15
    opt.bind(parameters, fixed);
#else
    opt.bind(parameters, gradients);
    opt.step(0.1f);
#endif
}
