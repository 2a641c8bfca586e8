// SPDX-License-Identifier: Apache-2.0
// What may stand in a recipe, and in an on<>.
// case 1: halfstep: this value fits no slot of a recipe; a policy says 'using slot = halfstep::loss_scaling_slot' or the like, a dtype is named as fp16{} or dtype<float>{}
// case 2: halfstep: this value fits no slot of a recipe; a policy says 'using slot = halfstep::loss_scaling_slot' or the like, a dtype is named as fp16{} or dtype<float>{}
// case 3: halfstep: this value fits no slot of a recipe; a policy says 'using slot = halfstep::loss_scaling_slot' or the like, a dtype is named as fp16{} or dtype<float>{}
// case 4: halfstep: this value fits no slot of a recipe; a policy says 'using slot = halfstep::loss_scaling_slot' or the like, a dtype is named as fp16{} or dtype<float>{}
// case 5: halfstep: a recipe names no machine; give backend and communicator to optimizer_step
// case 6: halfstep: a recipe names no machine; give backend and communicator to optimizer_step
// case 7: halfstep: this policy has no default value; give each of its members one
// case 8: halfstep: this policy's 'validate' cannot be called as 'constexpr void validate() const'
// case 9: halfstep: this recipe names two policies of one slot, and the whole step has one
// case 10: halfstep: this recipe names two policies of one slot, and the whole step has one
// case 11: halfstep: this recipe names two policies of one slot; for one group of several, write on<group, policy>
// case 12: halfstep: this recipe names two policies of one slot; for one group of several, write on<group, policy>
// case 13: halfstep: this recipe has no parameter group that trains; name a dtype, or group<tag, dtype>{}
// case 14: halfstep: this recipe has no parameter group that trains; name a dtype, or group<tag, dtype>{}
// case 15: halfstep: this recipe has no parameter group that trains; name a dtype, or group<tag, dtype>{}
// case 16: halfstep: two parameter groups of this recipe have the same tag; several dtypes need a group<tag, dtype>{} each
// case 17: halfstep: two parameter groups of this recipe have the same tag; several dtypes need a group<tag, dtype>{} each
// case 18: halfstep: two parameter groups of this recipe have the same tag; several dtypes need a group<tag, dtype>{} each
// case 19: halfstep: this parameter group's 'type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2
// case 20: halfstep: this parameter group's 'type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2
// case 21: halfstep: this parameter group's 'gradient_type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2
// case 22: halfstep: on<...> names a parameter group that the recipe does not have
// case 23: halfstep: on<...> names a parameter group that the recipe does not have
// case 24: halfstep: on<...> takes policies that a group decides for itself (update rule, detection, storage, state); this one belongs to the whole step
// case 25: halfstep: on<...> takes policies that a group decides for itself (update rule, detection, storage, state); this one belongs to the whole step
// case 26: halfstep: on<...> takes policies that a group decides for itself (update rule, detection, storage, state); this one belongs to the whole step
// case 27: halfstep: on<...> gives one group two policies of one slot
// case 28: halfstep: on<...> gives one group two policies of one slot
// case 29: halfstep: this value fits no slot of a recipe; a policy says 'using slot = halfstep::loss_scaling_slot' or the like, a dtype is named as fp16{} or dtype<float>{}
// case 30: halfstep: this update rule lacks 'static constexpr int moments', 0 or more
// case 31: halfstep: a recipe names no machine; give backend and communicator to optimizer_step
#include "in_case.hpp"

struct backbone;
struct head;
struct elsewhere;

/// All that an overflow detection needs, but nothing says that it is one.
struct almost_a_policy {
    constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
struct of_another_slot {
    using slot = int;
};
struct almost_a_rule {
    using slot = hs::update_rule_slot;
};
struct without_default : hs::nonfinite_check {
    constexpr explicit without_default(int) {}
};
struct validates_itself_away : hs::nonfinite_check {
    constexpr void validate() {}
};

#if HALFSTEP_CASE == 1
using recipe = hs::recipe<hs::fp16{}, 3>;
#elif HALFSTEP_CASE == 2
using recipe = hs::recipe<hs::fp16{}, almost_a_policy{}>;
#elif HALFSTEP_CASE == 3
using recipe = hs::recipe<hs::fp16{}, of_another_slot{}>;
#elif HALFSTEP_CASE == 4
using recipe = hs::recipe<hs::fp16{}, nullptr, hs::adamw{}>;
#elif HALFSTEP_CASE == 5
using recipe = hs::recipe<hs::fp16{}, hs::host_backend{}>;
#elif HALFSTEP_CASE == 6
using recipe = hs::recipe<hs::fp16{}, hs::self{}>;
#elif HALFSTEP_CASE == 7
using recipe = hs::recipe<hs::fp16{}, without_default(1)>;
#elif HALFSTEP_CASE == 8
using recipe = hs::recipe<hs::fp16{}, validates_itself_away{}>;
#elif HALFSTEP_CASE == 9
using recipe = hs::recipe<hs::fp16{}, hs::dynamic_scaling{}, hs::adamw{}, hs::static_scaling{}>;
#elif HALFSTEP_CASE == 10
using recipe = hs::recipe<hs::fp16{}, hs::scale_curve{}, hs::scale_curve<>{.every = 2}>;
#elif HALFSTEP_CASE == 11
using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::lion{}>;
#elif HALFSTEP_CASE == 12
using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::adamw{}>;
#elif HALFSTEP_CASE == 13
using recipe = hs::recipe<>;
#elif HALFSTEP_CASE == 14
using recipe = hs::recipe<hs::adamw{}, hs::dynamic_scaling{}>;
#elif HALFSTEP_CASE == 15
using recipe = hs::recipe<hs::frozen<backbone, hs::fp16>{}, hs::adamw{}>;
#elif HALFSTEP_CASE == 16
using recipe = hs::recipe<hs::group<head, hs::fp16>{}, hs::group<head, hs::bf16>{}>;
#elif HALFSTEP_CASE == 17
using recipe = hs::recipe<hs::fp16{}, hs::bf16{}>;
#elif HALFSTEP_CASE == 18
using recipe = hs::recipe<hs::group<backbone, float>{}, hs::group<head, hs::bf16>{}, hs::frozen<head, hs::bf16>{}>;
#elif HALFSTEP_CASE == 19
using recipe = hs::recipe<hs::dtype<double>{}, hs::adamw{}>;
#elif HALFSTEP_CASE == 20
using recipe = hs::recipe<hs::group<head, int>{}, hs::adamw{}>;
#elif HALFSTEP_CASE == 21
using recipe = hs::recipe<hs::group<head, float, double>{}, hs::adamw{}>;
#elif HALFSTEP_CASE == 22
using recipe = hs::recipe<hs::group<head, hs::bf16>{}, hs::on<elsewhere, hs::lion{}>{}>;
#elif HALFSTEP_CASE == 23  // the group of the short form has a tag too
using recipe = hs::recipe<hs::bf16{}, hs::on<head, hs::lion{}>{}>;
#elif HALFSTEP_CASE == 24
using recipe = hs::recipe<hs::group<head, hs::bf16>{}, hs::on<head, hs::dynamic_scaling{}>{}>;
#elif HALFSTEP_CASE == 25
using recipe = hs::recipe<hs::group<head, hs::bf16>{}, hs::on<head, hs::lion{}, hs::clip_by_norm{}>{}>;
#elif HALFSTEP_CASE == 26
using recipe = hs::recipe<hs::group<head, hs::fp16>{}, hs::no_scaling{}, hs::on<head, hs::accept_underflow{}>{}>;
#elif HALFSTEP_CASE == 27
using recipe = hs::recipe<hs::group<head, hs::bf16>{}, hs::on<head, hs::lion{}, hs::adam{}>{}>;
#elif HALFSTEP_CASE == 28
using recipe = hs::recipe<hs::group<head, hs::bf16>{}, hs::on<head, hs::kahan{}>{}, hs::on<head, hs::in_place{}>{}>;
#elif HALFSTEP_CASE == 29
using recipe = hs::recipe<hs::group<head, hs::bf16>{}, hs::on<head, hs::bf16{}>{}>;
#elif HALFSTEP_CASE == 30
using recipe = hs::recipe<hs::group<head, hs::bf16>{}, hs::on<head, almost_a_rule{}>{}>;
#elif HALFSTEP_CASE == 31
using recipe = hs::recipe<hs::group<head, hs::bf16>{}, hs::on<head, hs::self{}>{}>;
#else
using recipe =
    hs::recipe<hs::lion{}, hs::group<head, hs::fp16>{}, hs::group<backbone, hs::bf16>{}, hs::frozen<elsewhere, float>{},
               hs::on<head, hs::adam{}>{}, hs::on<head, hs::kahan{}>{}, hs::on<backbone, hs::kahan{}, hs::no_check{}>{},
               hs::on<elsewhere>{}, hs::accept_underflow{}, hs::dynamic_scaling{}, hs::scale_curve{}>;
static_assert(std::is_same_v<hs::recipe<hs::bf16{}, hs::on<hs::everything, hs::lion{}>{}>::composition,
                             hs::recipe<hs::lion{}, hs::group<hs::everything, hs::bf16>{}>::composition>);
#endif

// However the step is used, the recipe's sentence stays the only error.
long use() {
    hs::optimizer_step opt{recipe{}, hs::host_backend{.threads = 1}, hs::adam{.beta1 = 0.8f}};
    std::vector<hs::fp16> parameters(8), gradients(8);
    std::vector<hs::bf16> others(8);
    std::vector<float> fixed(8);
    opt.bind<head>(parameters, gradients);
    opt.bind<backbone>(others, others);
    opt.bind<elsewhere>(fixed);
    opt.bind_gradients<head>(gradients);
    opt.inspect_micro_batch();
    if (!opt.step({.lr = opt.loss_scale()})) return opt.skipped_steps();
    opt.visit_state([](auto const&) {});
    return opt.step(0.1f).applied_steps + opt.last().step + opt.applied_steps() + opt.report<head>().flagged +
           static_cast<long>(decltype(opt)::state_bytes<head>());
}
