// SPDX-License-Identifier: Apache-2.0
// What a step may be made from.
// case 1: halfstep: a value given at construction must be of a policy type that the recipe holds (a type selects code, a value is data), a backend or a communicator
// case 2: halfstep: a value given at construction must be of a policy type that the recipe holds (a type selects code, a value is data), a backend or a communicator
// case 3: halfstep: a value given at construction must be of a policy type that the recipe holds (a type selects code, a value is data), a backend or a communicator
// case 4: halfstep: in_group<tag>(policy): the recipe gives that group no policy of this type
// case 5: halfstep: in_group<tag>(policy): the recipe gives that group no policy of this type
// case 6: halfstep: this recipe has no parameter group with that tag
// case 7: halfstep: a step runs on one backend and with one communicator
// case 8: halfstep: a step runs on one backend and with one communicator
// case 9: halfstep: two values of one policy type at construction; in_group<tag>(policy) gives a group its own
// case 10: halfstep: a step is made from a recipe first, as optimizer_step opt{recipe<fp16{}, adamw{}>{}}
// case 11: halfstep: a step is made from a recipe first, as optimizer_step opt{recipe<fp16{}, adamw{}>{}}
// case 12: halfstep: this type of step was composed from other policies than this recipe's; write optimizer_step opt{recipe{}}, and it is deduced
// case 13: halfstep: fp16 or fp8 gradients without a loss scale lose what is below their smallest value; name a loss scaling, or accept_underflow{} if that is meant
// case 14: halfstep: this execution backend lacks 'static constexpr bool device_memory' and 'static constexpr bool synchronous'
// case 15: halfstep: this communicator lacks 'int rank() const' and 'int size() const'
#include "in_case.hpp"

struct backbone;
struct head;
struct elsewhere;

using recipe = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<head, hs::fp16>{}, hs::adamw{}, hs::clip_by_norm{},
                          hs::on<head, hs::lion{}>{}>;

struct almost_a_backend {
    using slot = hs::execution_backend_slot;
};
struct almost_a_communicator {
    using slot = hs::communicator_slot;
};

void make() {
#if HALFSTEP_CASE == 1
    hs::optimizer_step opt{recipe{}, hs::adam{}};
#elif HALFSTEP_CASE == 2
    hs::optimizer_step opt{recipe{}, 0.1f};
#elif HALFSTEP_CASE == 3  // a setting that is part of the type
    hs::optimizer_step opt{recipe{}, hs::fp32_state<hs::subnormals::keep>{}};
#elif HALFSTEP_CASE == 4
    hs::optimizer_step opt{recipe{}, hs::in_group<head>(hs::adamw{})};
#elif HALFSTEP_CASE == 5  // the whole step clips
    hs::optimizer_step opt{recipe{}, hs::in_group<head>(hs::clip_by_norm{})};
#elif HALFSTEP_CASE == 6
    hs::optimizer_step opt{recipe{}, hs::in_group<elsewhere>(hs::adamw{})};
#elif HALFSTEP_CASE == 7
    hs::optimizer_step opt{recipe{}, hs::host_backend{}, hs::host_backend{.threads = 2}};
#elif HALFSTEP_CASE == 8
    hs::optimizer_step opt{recipe{}, hs::self{}, hs::self{}};
#elif HALFSTEP_CASE == 9
    hs::optimizer_step opt{recipe{}, hs::adamw{}, hs::clip_by_norm{}, hs::adamw{.beta1 = 0.8f}};
#elif HALFSTEP_CASE == 10
    hs::optimizer_step opt{hs::fp16{}, hs::adamw{}};
#elif HALFSTEP_CASE == 11
    hs::optimizer_step opt{hs::host_backend{}, recipe{}};
#elif HALFSTEP_CASE == 12
    hs::optimizer_step<hs::recipe<hs::fp16{}>::composition> opt{recipe{}};
#elif HALFSTEP_CASE == 13  // the recipe's own sentence comes first, and alone
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, hs::no_scaling{}>{}, almost_a_backend{}, hs::adam{}, 0.1f};
#elif HALFSTEP_CASE == 14
    hs::optimizer_step opt{recipe{}, almost_a_backend{}, almost_a_communicator{}};
#elif HALFSTEP_CASE == 15
    hs::optimizer_step opt{recipe{}, almost_a_communicator{}};
#else
    hs::optimizer_step opt{recipe{},
                           hs::self{},
                           hs::adamw{.beta1 = 0.8f},
                           hs::in_group<head>(hs::lion{.beta1 = 0.8f}),
                           hs::in_group<backbone>(hs::group<backbone, hs::bf16>{.lr_factor = 0.1f}),
                           hs::dynamic_scaling{},
                           hs::clip_by_norm{},
                           hs::host_backend{.threads = 2}};
    hs::optimizer_step<recipe::composition> spelled_out{recipe{}};
#endif
}
