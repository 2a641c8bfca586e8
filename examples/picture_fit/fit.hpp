// SPDX-License-Identifier: Apache-2.0
/// The training loop: what a mixed-precision step asks of the code around it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <halfstep/halfstep.hpp>
#include <string_view>
#include <vector>

#include "fit_result.hpp"
#include "network.hpp"
#include "progress_bar.hpp"

namespace picture_fit {

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
        const double loss = net.backward(opt.loss_scale());
        const auto start = clock::now();
        opt.step({.lr = settings.lr_at(i), .loss = static_cast<float>(loss)});
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
