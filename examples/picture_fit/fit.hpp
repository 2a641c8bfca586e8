// SPDX-License-Identifier: Apache-2.0
/// The training loop: what a mixed-precision step asks of the code around it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <halfstep/halfstep.hpp>
#include <numbers>
#include <string_view>
#include <vector>

#include "network.hpp"
#include "progress_bar.hpp"

namespace picture_fit {

struct fit_settings {
    network_shape shape{};
    int steps = 120;
    float lr = 0.02f;  ///< at the start; falls to zero on half a cosine
    int threads = 1;
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

/// Trains a network stored in `T` with the optimizer step that `Recipe` describes. `values` replace some of the
/// recipe's.
template <hs::storage_type T, class Recipe, class... Values>
fit_result fit(picture const& target, fit_settings const& settings, unsigned seed, std::string_view name,
               progress_bar& progress, Values const&... values) {
    using clock = std::chrono::steady_clock;
    network<T> net(settings.shape, target, seed, settings.threads);
    hs::optimizer_step opt{Recipe{}, hs::host_backend{.threads = settings.threads}, values...};
    opt.bind(net.parameters(), net.gradients());

    std::vector<double> microseconds;
    for (int i = 0; i < settings.steps; ++i) {
        const float lr =
            settings.lr * 0.5f *
            (1 + std::cos(std::numbers::pi_v<float> * static_cast<float>(i) / static_cast<float>(settings.steps)));
        const double loss = net.backward(opt.loss_scale());
        const auto start = clock::now();
        opt.step({.lr = lr, .loss = static_cast<float>(loss)});
        microseconds.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
        progress.advance(fmt::format("{} seed {}", name, seed),
                         fmt::format("loss {:.5f}  loss scale {:g}", loss, opt.loss_scale()));
    }

    fit_result result;
    result.drawn = net.draw();
    result.psnr = psnr(result.drawn, target);
    result.vanished = net.underflow().share();
    result.skipped = opt.skipped_steps();
    const auto middle = microseconds.begin() + settings.steps / 2;
    std::nth_element(microseconds.begin(), middle, microseconds.end());
    result.step_microseconds = *middle;
    progress.finish_run(fmt::format("{:15} seed {}", name, seed), fmt::format("{:.2f} dB", result.psnr));
    return result;
}

}  // namespace picture_fit
