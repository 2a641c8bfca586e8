// SPDX-License-Identifier: Apache-2.0
// A telemetry written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this telemetry lacks a type 'recorder' that is constructed from the policy
// case 2: halfstep: this telemetry lacks a type 'recorder' that is constructed from the policy
// case 3: halfstep: this telemetry's recorder lacks 'void record(step_record const&)'
// case 4: halfstep: this telemetry's recorder lacks 'void record(step_record const&)'
#include "in_case.hpp"

struct step_counter {
    using slot = hs::telemetry_slot;
    int first = 0;

#if HALFSTEP_CASE != 1
    struct recorder {
#if HALFSTEP_CASE == 2
        explicit recorder(int n) : steps(n) {}
#else
        explicit recorder(step_counter const& t) : steps(t.first) {}
#endif
        int steps;
#if HALFSTEP_CASE == 4
        void record(float) { ++steps; }
#elif HALFSTEP_CASE != 3
        void record(hs::step_record const&) { ++steps; }
#endif
    };
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, step_counter{}>{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
