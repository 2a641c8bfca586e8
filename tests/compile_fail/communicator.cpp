// SPDX-License-Identifier: Apache-2.0
// A communicator written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this communicator lacks 'int rank() const' and 'int size() const'
// case 2: halfstep: this communicator lacks 'int rank() const' and 'int size() const'
// case 3: halfstep: this communicator lacks 'void all_reduce(std::span<double>, reduction)'
// case 4: halfstep: this communicator lacks 'void all_reduce(std::span<double>, reduction)'
// case 5: halfstep: this communicator lacks 'void all_reduce_mean(std::span<T>)' for every storage type
// case 6: halfstep: this communicator lacks 'void all_reduce_mean(std::span<T>)' for every storage type
// case 7: halfstep: this communicator lacks 'void broadcast(std::span<T>, int root)' for every storage type
// case 8: halfstep: this communicator lacks 'void broadcast(std::span<T>, int root)' for every storage type
#include "in_case.hpp"

struct two_ranks {
    using slot = hs::communicator_slot;
    int rank_ = 0;

#if HALFSTEP_CASE != 1
    int rank() const { return rank_; }
#endif
#if HALFSTEP_CASE != 2
    int size() const { return 2; }
#endif

#if HALFSTEP_CASE == 4
    void all_reduce(std::span<float>, hs::reduction) {}
#elif HALFSTEP_CASE != 3
    void all_reduce(std::span<double>, hs::reduction) {}
#endif

#if HALFSTEP_CASE == 6
    void all_reduce_mean(std::span<float>) {}
#elif HALFSTEP_CASE != 5
    template <class T>
    void all_reduce_mean(std::span<T>) {}
#endif

#if HALFSTEP_CASE == 8
    template <class T>
    void broadcast(std::span<T>) {}
#elif HALFSTEP_CASE != 7
    template <class T>
    void broadcast(std::span<T>, int) {}
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::fp16{}>{}, two_ranks{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
