// SPDX-License-Identifier: Apache-2.0
/// What a run is asked for, and what came of it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "network_layout.hpp"
#include "picture.hpp"

namespace picture_fit {

struct fit_settings {
    network_shape shape{};
    int steps = 120;
    float lr = 0.02f;  ///< at the start; falls to zero on half a cosine
    int threads = 1;

    float lr_at(int step) const {
        return lr * 0.5f *
               (1 + std::cos(std::numbers::pi_v<float> * static_cast<float>(step) / static_cast<float>(steps)));
    }
};

struct fit_result {
    double psnr = 0;  ///< peak signal-to-noise ratio in dB: -10 log10 of the mean squared error, for values from 0 to 1
    double vanished = 0;
    std::int64_t skipped = 0;
    double step_microseconds = 0;  ///< the median, for other programs may be running too
    picture drawn;
};

inline double psnr(picture const& a, picture const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const double error = static_cast<double>(a.values[i]) - static_cast<double>(b.values[i]);
        sum += error * error;
    }
    return -10 * std::log10(sum / static_cast<double>(a.values.size()));
}

}  // namespace picture_fit
