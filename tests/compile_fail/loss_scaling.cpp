// SPDX-License-Identifier: Apache-2.0
// A loss scaling written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this loss scaling lacks a trivially copyable type 'state'; it is kept in device memory
// case 2: halfstep: this loss scaling lacks a trivially copyable type 'state'; it is kept in device memory
// case 3: halfstep: this loss scaling lacks a trivially copyable type 'state'; it is kept in device memory
// case 4: halfstep: this loss scaling lacks 'float scale(state const&) const'
// case 5: halfstep: this loss scaling lacks 'float scale(state const&) const'
// case 6: halfstep: this loss scaling lacks 'float scale(state const&) const'
// case 7: halfstep: this loss scaling lacks 'void update(state&, gradient_report const&) const'
// case 8: halfstep: this loss scaling lacks 'void update(state&, gradient_report const&) const'
// case 9: halfstep: this loss scaling lacks 'void update(state&, gradient_report const&) const'
// case 10: halfstep: this loss scaling lacks 'void update(state&, gradient_report const&) const'
// case 11: halfstep: this loss scaling's 'initial' cannot be called as 'state initial() const'
// case 12: halfstep: this loss scaling's 'initial' cannot be called as 'state initial() const'
// case 13: halfstep: this loss scaling's 'event' cannot be called as 'scaling_event event(state const&) const'
// case 14: halfstep: this loss scaling's 'event' cannot be called as 'scaling_event event(state const&) const'
#include "in_case.hpp"

struct backoff {
    using slot = hs::loss_scaling_slot;
    float first = 1024;

#if HALFSTEP_CASE == 2
    struct state {
        std::vector<float> history;
        float scale = 1024;
    };
#elif HALFSTEP_CASE == 3
    struct state {
        constexpr explicit state(float s) : scale(s) {}
        float scale;
    };
#elif HALFSTEP_CASE != 1
    struct state {
        float scale = 1024;
    };
#else
    struct status {
        float scale = 1024;
    };
    using state_type = status;
#endif

#if HALFSTEP_CASE == 1
    constexpr float scale(status const& s) const { return s.scale; }
#elif HALFSTEP_CASE == 5
    constexpr float scale(state const& s) { return s.scale; }
#elif HALFSTEP_CASE == 6
    constexpr double scale(state const& s) const { return static_cast<double>(s.scale); }
#elif HALFSTEP_CASE != 4
    constexpr float scale(state const& s) const { return s.scale; }
#endif

#if HALFSTEP_CASE == 1
    constexpr void update(status&, hs::gradient_report const&) const {}
#elif HALFSTEP_CASE == 8
    constexpr void update(state& s, bool overflowed) const { s.scale *= overflowed ? 0.5f : 1.0f; }
#elif HALFSTEP_CASE == 9  // a copy: the scale would stay for ever
    constexpr void update(state s, hs::gradient_report const& r) const { s.scale *= r.overflowed ? 0.5f : 1.0f; }
#elif HALFSTEP_CASE == 10
    constexpr void update(state& s, hs::gradient_report const& r) { s.scale *= r.overflowed ? 0.5f : 1.0f; }
#elif HALFSTEP_CASE != 7
    constexpr void update(state& s, hs::gradient_report const& r) const { s.scale *= r.overflowed ? 0.5f : 1.0f; }
#endif

#if HALFSTEP_CASE == 11
    constexpr float initial() const { return first; }
#elif HALFSTEP_CASE == 12
    constexpr state initial() { return {first}; }
#elif HALFSTEP_CASE == 0
    constexpr state initial() const { return {first}; }
#endif

#if HALFSTEP_CASE == 13
    constexpr bool event(state const& s) const { return s.scale < 1; }
#elif HALFSTEP_CASE == 14
    constexpr hs::scaling_event event(state& s) const {
        return s.scale < 1 ? hs::scaling_event::warn_at_floor : hs::scaling_event::none;
    }
#elif HALFSTEP_CASE == 0
    constexpr hs::scaling_event event(state const& s) const {
        return s.scale < 1 ? hs::scaling_event::warn_at_floor : hs::scaling_event::none;
    }
#endif
};

#if HALFSTEP_CASE == 0
/// The smallest one, with no state: `update` may take that by value.
struct constant {
    using slot = hs::loss_scaling_slot;
    struct state {};
    constexpr float scale(state) const { return 8; }
    constexpr void update(state, hs::gradient_report const&) const {}
};
static_assert(hs::loss_scaling<backoff> && hs::loss_scaling<constant>);
#endif

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::adamw{}, hs::fp16{}, backoff{}, hs::clip_by_norm{}>{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
