/* SPDX-License-Identifier: Apache-2.0 */
/* A step bound to pointers, sizes and a stream that others own: what a binding of PyTorch, or of any other language,
 * calls.
 *
 * Every function returns null when it did what it says, and otherwise a sentence, valid until the next call in the same
 * thread: no exception crosses this interface. What is refused has changed nothing. Pointers are to device memory where
 * the library was built by nvcc, else to host memory; they must stay valid, or be replaced, for as long as steps run.
 * One thread at a time uses a step. */
#ifndef HALFSTEP_STEP_C_H
#define HALFSTEP_STEP_C_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#define HALFSTEP_C __attribute__((visibility("default")))

typedef struct halfstep_handle halfstep_handle;

typedef struct halfstep_record {
    int64_t step, applied_steps, skipped_steps;
    double gradient_norm; /* NaN where the recipe asks for none */
    float loss_scale, next_loss_scale;
    int32_t applied;
} halfstep_record;

/* `recipe` is a name of recipes.hpp. Each parameter has `sizes[i]` elements and a gradient as large, or a null one for
 * none now. `stream` is a cudaStream_t of the current device, null for the default one; unused on the host. */
HALFSTEP_C char const* halfstep_create(halfstep_handle** created, char const* recipe, size_t count,
                                       void* const* parameters, void const* const* gradients, int64_t const* sizes,
                                       void* stream);
/* New addresses of the gradients, all of them. */
HALFSTEP_C char const* halfstep_set_gradients(halfstep_handle* step, void const* const* gradients);
/* Where the loss scale lies: multiply the loss by what is there when the kernel runs. The address stays the same. */
HALFSTEP_C char const* halfstep_loss_scale(halfstep_handle* step, float const** scale);
/* Launches a step and does not wait. With `lr_in_memory` the learning rate is read there when the step runs, and `lr`
 * is not used. */
HALFSTEP_C char const* halfstep_step(halfstep_handle* step, float lr, float const* lr_in_memory);
/* Waits for all steps, and says how the last one went. */
HALFSTEP_C char const* halfstep_read_back(halfstep_handle* step, halfstep_record* record);
/* Waits as well. Null is none. */
HALFSTEP_C char const* halfstep_destroy(halfstep_handle* step);

#ifdef __cplusplus
}
#endif
#endif
