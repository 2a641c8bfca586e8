// SPDX-License-Identifier: Apache-2.0
// The rules between policies: every row of the table, from more than one side.
// case 1: halfstep: fp16 or fp8 gradients without a loss scale lose what is below their smallest value; name a loss scaling, or accept_underflow{} if that is meant
// case 2: halfstep: fp16 or fp8 gradients without a loss scale lose what is below their smallest value; name a loss scaling, or accept_underflow{} if that is meant
// case 3: halfstep: fp16 or fp8 gradients without a loss scale lose what is below their smallest value; name a loss scaling, or accept_underflow{} if that is meant
// case 4: halfstep: fp16 or fp8 gradients without a loss scale lose what is below their smallest value; name a loss scaling, or accept_underflow{} if that is meant
// case 5: halfstep: fp16 or fp8 gradients overflow in normal training, and no_check would let inf into the weights; name nonfinite_check, exponent_check or norm_check
// case 6: halfstep: fp16 or fp8 gradients overflow in normal training, and no_check would let inf into the weights; name nonfinite_check, exponent_check or norm_check
// case 7: halfstep: fp16 or fp8 gradients overflow in normal training, and no_check would let inf into the weights; name nonfinite_check, exponent_check or norm_check
// case 8: halfstep: norm clipping needs an overflow detector in every group: one NaN makes the norm NaN and with it every gradient; norm_check is free here
// case 9: halfstep: norm clipping needs an overflow detector in every group: one NaN makes the norm NaN and with it every gradient; norm_check is free here
// case 10: halfstep: a loss scale needs an overflow detector in at least one group; with no_check it could never back off
// case 11: halfstep: a loss scale needs an overflow detector in at least one group; with no_check it could never back off
// case 12: halfstep: a loss scale needs an overflow detector in at least one group; with no_check it could never back off
// case 13: halfstep: this overflow detection cannot see overflow in the group's gradient type (fp8_e4m3 has no infinity, its largest exponent is finite); name nonfinite_check
// case 14: halfstep: this overflow detection cannot see overflow in the group's gradient type (fp8_e4m3 has no infinity, its largest exponent is finite); name nonfinite_check
// case 15: halfstep: this storage rule is for 16-bit and fp8 parameters; a float group is its own master: in_place
// case 16: halfstep: this storage rule is for 16-bit and fp8 parameters; a float group is its own master: in_place
// case 17: halfstep: this storage rule is for 16-bit and fp8 parameters; a float group is its own master: in_place
// case 18: halfstep: this storage rule is for 16-bit and fp8 parameters; a float group is its own master: in_place
// case 19: halfstep: this overflow detection's 'flags_bits' cannot be called as 'bool flags_bits<T>(std::uint32_t bits) const' for the group's gradient type
#include "in_case.hpp"

struct backbone;
struct head;

/// Looks at the bits of fp16, and of nothing else.
struct fp16_bits {
    using slot = hs::overflow_detection_slot;
    template <class T>
        requires std::same_as<T, hs::fp16>
    static constexpr bool flags_bits(std::uint32_t bits) {
        return (bits & 0x7C00u) == 0x7C00u;
    }
    constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};

#if HALFSTEP_CASE == 1
using recipe = hs::recipe<hs::fp16{}, hs::no_scaling{}>;
#elif HALFSTEP_CASE == 2
using recipe = hs::recipe<hs::fp8_e5m2{}, hs::no_scaling{}>;
#elif HALFSTEP_CASE == 3  // it is the gradient that vanishes, whatever the parameter is
using recipe = hs::recipe<hs::group<hs::everything, float, hs::fp16>{}, hs::no_scaling{}>;
#elif HALFSTEP_CASE == 4
using recipe = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<head, hs::fp16>{}, hs::no_scaling{}>;
#elif HALFSTEP_CASE == 5
using recipe = hs::recipe<hs::fp16{}, hs::no_check{}>;
#elif HALFSTEP_CASE == 6
using recipe = hs::recipe<hs::fp8_e4m3{}, hs::no_check{}>;
#elif HALFSTEP_CASE == 7
using recipe = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<head, hs::fp16>{}, hs::on<head, hs::no_check{}>{}>;
#elif HALFSTEP_CASE == 8
using recipe = hs::recipe<hs::bf16{}, hs::clip_by_norm{}, hs::no_check{}>;
#elif HALFSTEP_CASE == 9
using recipe = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<head, float>{}, hs::clip_by_norm{},
                          hs::on<head, hs::no_check{}>{}>;
#elif HALFSTEP_CASE == 10
using recipe = hs::recipe<hs::bf16{}, hs::dynamic_scaling{}, hs::no_check{}>;
#elif HALFSTEP_CASE == 11
using recipe = hs::recipe<hs::dtype<float>{}, hs::static_scaling{}, hs::no_check{}>;
#elif HALFSTEP_CASE == 12  // a frozen group has no gradients to look at
using recipe = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::frozen<head, hs::bf16>{}, hs::dynamic_scaling{},
                          hs::on<backbone, hs::no_check{}>{}>;
#elif HALFSTEP_CASE == 13
using recipe = hs::recipe<hs::fp8_e4m3{}, hs::exponent_check{}>;
#elif HALFSTEP_CASE == 14
using recipe = hs::recipe<hs::group<backbone, hs::bf16, hs::fp8_e4m3>{}, hs::exponent_check{}>;
#elif HALFSTEP_CASE == 15
using recipe = hs::recipe<hs::dtype<float>{}, hs::stochastic_rounding{}>;
#elif HALFSTEP_CASE == 16
using recipe = hs::recipe<hs::dtype<float>{}, hs::kahan{}>;
#elif HALFSTEP_CASE == 17
using recipe = hs::recipe<hs::dtype<float>{}, hs::fp32_master{}>;
#elif HALFSTEP_CASE == 18
using recipe = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<head, float>{}, hs::kahan{}>;
#elif HALFSTEP_CASE == 19
using recipe = hs::recipe<hs::bf16{}, fp16_bits{}>;
#else
// What each row lets pass, right beside what it refuses.
template <class... Recipes>
constexpr bool all_compose = (!std::is_same_v<typename Recipes::composition, hs::invalid_composition> && ...);
static_assert(
    all_compose<
        hs::recipe<hs::fp16{}, hs::no_scaling{}, hs::accept_underflow{}>,
        hs::recipe<hs::fp8_e5m2{}, hs::static_scaling{}>,
        hs::recipe<hs::group<hs::everything, hs::fp16, float>{}, hs::no_scaling{}>,
        hs::recipe<hs::group<backbone, hs::bf16>{}, hs::frozen<head, hs::fp16>{}, hs::no_scaling{}>,
        hs::recipe<hs::fp16{}, hs::norm_check{}>, hs::recipe<hs::bf16{}, hs::no_check{}>,
        hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<head, hs::fp16>{}, hs::on<backbone, hs::no_check{}>{}>,
        hs::recipe<hs::bf16{}, hs::clip_by_norm{}, hs::norm_check{}>,
        hs::recipe<hs::bf16{}, hs::clip_by_value{}, hs::no_check{}>,
        hs::recipe<hs::group<backbone, hs::bf16>{}, hs::frozen<head, float>{}, hs::clip_by_norm{},
                   hs::on<head, hs::no_check{}>{}>,
        hs::recipe<hs::bf16{}, hs::dynamic_scaling{}>, hs::recipe<hs::fp8_e5m2{}, hs::exponent_check{}>,
        hs::recipe<hs::group<backbone, hs::fp16>{}, hs::frozen<head, hs::fp8_e4m3>{}, hs::exponent_check{}>,
        hs::recipe<hs::group<backbone, hs::bf16>{}, hs::frozen<head, float>{}, hs::stochastic_rounding{}>,
        hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<head, float>{}, hs::on<backbone, hs::kahan{}>{}>>);
using recipe = hs::recipe<hs::fp16{}, fp16_bits{}>;
#endif

hs::step_record use() {
    hs::optimizer_step opt{recipe{}};
    std::vector<hs::fp16> parameters(8), gradients(8);
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
