// SPDX-License-Identifier: Apache-2.0
// A loss scaling and an overflow detector of one's own, outside the library, composed like the stock ones.
//   step 1  scale 65536  skipped
//   step 2  scale 4096  applied
//   step 3  scale 4096  applied
//   step 4  scale 8192  applied
#include <cstdio>
#include <vector>

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
    HS_FUNCTION constexpr state initial() const { return {start, 0}; }
    HS_FUNCTION constexpr float scale(state const& s) const { return s.scale; }
    HS_FUNCTION constexpr void update(state& s, hs::gradient_report const& r) const {
        const bool grow = !r.overflowed && s.calm == 1;
        s = r.overflowed ? state{s.scale / 16, 0} : state{grow ? s.scale * 2 : s.scale, grow ? 0 : s.calm + 1};
    }
};
static_assert(hs::loss_scaling<gentle_scaling>);

struct early_warning {  // calls it an overflow one binade before fp16 would
    using slot = hs::overflow_detection_slot;
    template <class Real>
    HS_FUNCTION constexpr auto flags(Real gradient) const {
        using hs::abs;
        return !(abs(gradient) < Real(32768.0f));
    }
    HS_FUNCTION constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
static_assert(hs::overflow_detection<early_warning>);

}  // namespace lab

using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, lab::gentle_scaling{}, lab::early_warning{}>;

int main() {
    hs::optimizer_step opt{recipe{}};
    std::vector<hs::fp16> weights(1000, hs::fp16(1.0f)), gradients(1000);
    opt.bind(weights, gradients);
    for (int i = 0; i < 4; ++i) {
        for (auto& g : gradients) g = hs::fp16(0.5f * opt.loss_scale());  // what a backward pass would leave
        const hs::step_record r = opt.step(0.1f);
        std::printf("step %d  scale %.0f  %s\n", i + 1, static_cast<double>(r.loss_scale), r.applied ? "applied" : "skipped");
    }
}
