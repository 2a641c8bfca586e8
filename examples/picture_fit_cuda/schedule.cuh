// SPDX-License-Identifier: Apache-2.0
/// The numbers of a run that change from step to step, in device memory: a replayed graph finds them there.
#pragma once

#include <vector>

#include "../picture_fit/fit_result.hpp"
#include "cuda_resources.hpp"
#include "launch.cuh"

namespace picture_fit {

static __global__ void next_step_kernel(float const* rates, int steps, int* step, float* lr) {
    *lr = rates[*step < steps ? *step : steps - 1];
    ++*step;
}

class schedule {
  public:
    explicit schedule(fit_settings const& settings)
        : rates_(rates_of(settings)), step_(std::vector<int>{0}), lr_(1), loss_(1) {}

    /// Launches what sets the learning rate of the next step.
    void advance(cudaStream_t stream) {
        next_step_kernel<<<1, 1, 0, stream>>>(rates_.data(), static_cast<int>(rates_.size()), step_.data(), lr_.data());
    }
    float const* lr() const { return lr_.data(); }
    float* loss() const { return loss_.data(); }
    /// The latest step's. Waits.
    float read_loss(cudaStream_t stream) const { return loss_.read(stream).front(); }

  private:
    static std::vector<float> rates_of(fit_settings const& settings) {
        std::vector<float> rates;
        for (int i = 0; i < settings.steps; ++i) rates.push_back(settings.lr_at(i));
        return rates;
    }

    device_array<float> rates_;
    device_array<int> step_;
    device_array<float> lr_, loss_;
};

}  // namespace picture_fit
