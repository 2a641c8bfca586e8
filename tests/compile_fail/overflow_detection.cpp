// SPDX-License-Identifier: Apache-2.0
// An overflow detection written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this overflow detection lacks 'bool overflowed(gradient_report const&) const'
// case 2: halfstep: this overflow detection lacks 'bool overflowed(gradient_report const&) const'
// case 3: halfstep: this overflow detection lacks 'bool overflowed(gradient_report const&) const'
// case 4: halfstep: this overflow detection's 'flags' cannot be called as 'bool flags(float gradient) const'
// case 5: halfstep: this overflow detection's 'flags' cannot be called as 'bool flags(float gradient) const'
// case 6: halfstep: this overflow detection's 'flags' cannot be called as 'bool flags(float gradient) const'
// case 7: halfstep: this overflow detection's 'flags_bits' cannot be called as 'bool flags_bits<T>(std::uint32_t bits) const' for the group's gradient type
// case 8: halfstep: this overflow detection's 'flags_bits' cannot be called as 'bool flags_bits<T>(std::uint32_t bits) const' for the group's gradient type
#include "in_case.hpp"

/// Wants gradients below a bound of its own.
struct below_bound {
    using slot = hs::overflow_detection_slot;
    float bound = 1000;

#if HALFSTEP_CASE == 2
    constexpr int overflowed(hs::gradient_report const& r) const { return r.flagged; }
#elif HALFSTEP_CASE == 3
    constexpr bool overflowed(bool flagged) const { return flagged; }
#elif HALFSTEP_CASE != 1
    constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
#endif

    // A hook that could not be called would never flag anything.
#if HALFSTEP_CASE == 4
    constexpr int flags(float gradient) const { return !(gradient < bound && gradient > -bound); }
#elif HALFSTEP_CASE == 5
    constexpr bool flags(float gradient) { return !(gradient < bound && gradient > -bound); }
#elif HALFSTEP_CASE == 6
    constexpr bool flags(hs::fp16 const* gradient) const { return !(hs::widen(*gradient) < bound); }
#elif HALFSTEP_CASE == 7
    constexpr bool flags_bits(std::uint32_t bits) const { return bits == 0x7C00u; }
#elif HALFSTEP_CASE == 8
    template <class T>
    constexpr std::uint32_t flags_bits(std::uint32_t bits) const {
        return bits & 0x7C00u;
    }
#else
    constexpr bool flags(float gradient) const { return !(gradient < bound && gradient > -bound); }
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::adamw{}, hs::fp16{}, below_bound{}, hs::clip_by_norm{}>{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
