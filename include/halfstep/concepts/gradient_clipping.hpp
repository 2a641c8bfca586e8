// SPDX-License-Identifier: Apache-2.0
/// The concept of gradient clipping.
#pragma once

#include <concepts>

#include <halfstep/core/member_name.hpp>
#include <halfstep/core/report.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

namespace gradient_clipping_needs {
template <class P>
concept a_factor = requires(P const p, gradient_norms const n) {
    { p.factor(n) } -> std::convertible_to<double>;
};
template <class P>
concept clip_if_it_says_so = !member_name::clip<P> || requires(P const p, float g) {
    { p.clip(g) } -> std::same_as<float>;
};
}  // namespace gradient_clipping_needs

/// Bounds the unscaled gradients: by one factor for a whole group, and where it has the hook, element by element.
///
/// `factor` gets norms only where `static constexpr gradient_statistics needs` asks for the sum of squares. Optional
/// hook: `Real clip(Real gradient) const`, after unscaling. Laws: the factor is in [0, 1] for finite norms; `clip` of a
/// NaN is a NaN.
template <class P>
concept gradient_clipping = fills<P, gradient_clipping_slot> && gradient_clipping_needs::a_factor<P> &&
                            gradient_clipping_needs::clip_if_it_says_so<P>;

namespace archetype {
struct gradient_clipping {
    using slot = gradient_clipping_slot;
    constexpr float factor(gradient_norms const&) const { return 1; }
};
}  // namespace archetype
static_assert(gradient_clipping<archetype::gradient_clipping>);

namespace diagnose {
template <class P>
consteval auto a_gradient_clipping() {
    namespace needs = gradient_clipping_needs;
    if constexpr (!needs::a_factor<P>)
        static_assert(needs::a_factor<P>,
                      "halfstep: this gradient clipping lacks 'double factor(gradient_norms const&) const'");
    else
        static_assert(
            needs::clip_if_it_says_so<P>,
            "halfstep: this gradient clipping's 'clip' cannot be called as 'float clip(float gradient) const'");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
