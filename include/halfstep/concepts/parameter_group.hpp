// SPDX-License-Identifier: Apache-2.0
/// The concept of a parameter group.
#pragma once

#include <concepts>

#include <halfstep/core/dtype.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

namespace parameter_group_needs {
template <class P>
concept a_tag = requires { typename P::tag; };
template <class P>
concept a_storage_type = requires { typename P::type; } && storage_type<typename P::type>;
template <class P>
concept a_gradient_type = requires { typename P::gradient_type; } && storage_type<typename P::gradient_type>;
template <class P>
concept whether_it_trains = requires {
    { P::trains } -> std::convertible_to<bool>;
};
template <class P>
concept factors = requires(P const p) {
    { p.lr_factor } -> std::convertible_to<float>;
    { p.weight_decay_factor } -> std::convertible_to<float>;
};
}  // namespace parameter_group_needs

/// Parameters of one dtype that follow the same rules. The tag type names the group.
///
/// Laws: two groups of a recipe have different tags; a group that does not train owns no state and is never written.
template <class P>
concept parameter_group = fills<P, parameter_group_slot> && parameter_group_needs::a_tag<P> &&
                          parameter_group_needs::a_storage_type<P> && parameter_group_needs::a_gradient_type<P> &&
                          parameter_group_needs::whether_it_trains<P> && parameter_group_needs::factors<P>;

namespace archetype {
struct parameter_group {
    using slot = parameter_group_slot;
    struct tag {};
    using type = float;
    using gradient_type = float;
    static constexpr bool trains = true;
    float lr_factor = 1;
    float weight_decay_factor = 1;
};
}  // namespace archetype
static_assert(parameter_group<archetype::parameter_group>);

namespace diagnose {
/// Says the first thing that `P` lacks. Returns true: once it has spoken, its caller stays silent.
template <class P>
consteval auto a_parameter_group() {
    namespace needs = parameter_group_needs;
    if constexpr (!needs::a_tag<P>)
        static_assert(needs::a_tag<P>, "halfstep: this parameter group lacks a type 'tag' that names it");
    else if constexpr (!needs::a_storage_type<P>)
        static_assert(needs::a_storage_type<P>,
                      "halfstep: this parameter group's 'type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2");
    else if constexpr (!needs::a_gradient_type<P>)
        static_assert(
            needs::a_gradient_type<P>,
            "halfstep: this parameter group's 'gradient_type' must be float, fp16, bf16, fp8_e4m3 or fp8_e5m2");
    else if constexpr (!needs::whether_it_trains<P>)
        static_assert(needs::whether_it_trains<P>,
                      "halfstep: this parameter group lacks 'static constexpr bool trains'");
    else
        static_assert(
            needs::factors<P>,
            "halfstep: this parameter group lacks the members 'float lr_factor' and 'float weight_decay_factor'");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
