// SPDX-License-Identifier: Apache-2.0
/// A loss scaling and an overflow detector of one's own, outside the library, composed like the stock ones. Plain
/// constexpr functions: the same lines run on the host's lanes and on a device.
#pragma once

#include <halfstep/halfstep.hpp>
namespace hs = halfstep;

namespace lab {

struct gentle_scaling {  // backs off to the fourth power of its growth, and never leaves powers of two
    using slot = hs::loss_scaling_slot;
    float start = 0x1p16f;
    struct state {
        float scale;
        int calm;
    };
    constexpr state initial() const { return {start, 0}; }
    constexpr float scale(state const& s) const { return s.scale; }
    constexpr void update(state& s, hs::gradient_report const& r) const {
        const bool grow = !r.overflowed && s.calm == 1;
        s = r.overflowed ? state{s.scale / 16, 0} : state{grow ? s.scale * 2 : s.scale, grow ? 0 : s.calm + 1};
    }
};
static_assert(hs::loss_scaling<gentle_scaling>);

struct early_warning {  // calls it an overflow one binade before fp16 would
    using slot = hs::overflow_detection_slot;
    template <class Real>
    constexpr auto flags(Real gradient) const {
        using hs::abs;
        return !(abs(gradient) < Real(32768.0f));
    }
    constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
static_assert(hs::overflow_detection<early_warning>);

}  // namespace lab

using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, lab::gentle_scaling{}, lab::early_warning{}>;
