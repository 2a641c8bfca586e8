// SPDX-License-Identifier: Apache-2.0
// The policies of custom_policy.hpp on a device, beside the host: the same recipe, the same bits.
//   step 1  scale 65536  skipped
//   step 2  scale 4096  applied
//   step 3  scale 4096  applied
//   step 4  scale 8192  applied
//   1000 weights with the host's bits
#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <cstdio>
#include <exception>
#include <vector>

#include <halfstep/cuda.cuh>
#include "custom_policy.hpp"

namespace {

__global__ void backward(hs::fp16* gradients, int size, float const* loss_scale) {  // the host never sees the scale
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < size) gradients[i] = hs::fp16(0.5f * *loss_scale);
}

int run() {
    const int size = 1000;
    std::vector<hs::fp16> weights(size, hs::fp16(1.0f)), gradients(size);
    thrust::device_vector<hs::fp16> device_weights = weights, device_gradients = gradients;
    hs::fp16* const written = thrust::raw_pointer_cast(device_gradients.data());

    hs::optimizer_step host{recipe{}};
    hs::optimizer_step device{recipe{}, hs::cuda_backend{}};
    host.bind(weights, gradients);
    device.bind(hs::tensor_view<hs::fp16>{thrust::raw_pointer_cast(device_weights.data()), {size}},
                hs::tensor_view<hs::fp16 const>{written, {size}});
    for (int i = 0; i < 4; ++i) {
        for (auto& g : gradients) g = hs::fp16(0.5f * host.loss_scale());
        host.step(0.1f);
        backward<<<(size + 255) / 256, 256>>>(written, size, device.loss_scale());
        device.step(0.1f);
        const hs::step_record r = device.read_back();  // to print it; a training loop does not wait
        std::printf("step %d  scale %.0f  %s\n", i + 1, static_cast<double>(r.loss_scale),
                    r.applied ? "applied" : "skipped");
    }
    std::vector<hs::fp16> copy(size);
    thrust::copy(device_weights.begin(), device_weights.end(), copy.begin());
    int same = 0;
    for (int i = 0; i < size; ++i) same += copy[i].bits == weights[i].bits ? 1 : 0;
    std::printf("%d weights with the host's bits\n", same);
    return same == size ? 0 : 1;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
