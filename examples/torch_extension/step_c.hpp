// SPDX-License-Identifier: Apache-2.0
/// The functions of step_c.h over `backend_on(stream)`, which the including file defines.
#pragma once

#include <exception>
#include <string>

#include "bound_step.hpp"
#include "step_c.h"

struct halfstep_handle {
    std::unique_ptr<torch_extension::bound_step> step;
};

namespace {

/// Runs `body`; its exception becomes a sentence.
template <class Body>
char const* sentence_of(Body&& body) noexcept {
    thread_local std::string sentence;
    try {
        body();
        return nullptr;
    } catch (std::exception const& e) {
        try {
            sentence = e.what();
            return sentence.c_str();
        } catch (...) {
            return "out of memory";
        }
    } catch (...) {
        return "an exception of an unknown type";
    }
}

}  // namespace

char const* halfstep_create(halfstep_handle** created, char const* recipe, size_t count, void* const* parameters,
                            void const* const* gradients, int64_t const* sizes, void* stream) {
    return sentence_of([&] {
        *created = new halfstep_handle{
            torch_extension::make_bound_step(recipe, {count, parameters, gradients, sizes}, backend_on(stream))};
    });
}
char const* halfstep_set_gradients(halfstep_handle* step, void const* const* gradients) {
    return sentence_of([&] { step->step->set_gradients(gradients); });
}
char const* halfstep_loss_scale(halfstep_handle* step, float const** scale) {
    return sentence_of([&] { *scale = step->step->loss_scale(); });
}
char const* halfstep_step(halfstep_handle* step, float lr, float const* lr_in_memory) {
    return sentence_of(
        [&] { step->step->step({.lr = lr_in_memory != nullptr ? 0 : lr, .lr_in_memory = lr_in_memory}); });
}
char const* halfstep_read_back(halfstep_handle* step, halfstep_record* record) {
    return sentence_of([&] {
        const halfstep::step_record r = step->step->read_back();
        *record = {r.step,       r.applied_steps,   r.skipped_steps,  r.gradient_norm,
                   r.loss_scale, r.next_loss_scale, r.applied ? 1 : 0};
    });
}
char const* halfstep_destroy(halfstep_handle* step) {
    return sentence_of([&] {
        if (step == nullptr) return;
        const std::unique_ptr<halfstep_handle> owned(step);  // freed even if an earlier error is met here
        step->step->read_back();
    });
}
