// SPDX-License-Identifier: Apache-2.0
/// The table of all variants, and the figures that other programs read.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "fit_result.hpp"

namespace picture_fit {

/// One variant: a line of the table.
struct variant_result {
    std::string name;
    bool narrow = true;               ///< stored in 16 bits, so that gradients can vanish
    std::size_t parameter_bytes = 0;  ///< weights and optimizer state, a parameter
    std::vector<fit_result> runs;     ///< one a seed

    template <class F>
    double mean(F&& f) const {
        double sum = 0;
        for (auto const& run : runs) sum += static_cast<double>(f(run));
        return sum / static_cast<double>(runs.size());
    }
    double mean_psnr() const {
        return mean([](auto const& run) { return run.psnr; });
    }
    double mean_vanished() const {
        return mean([](auto const& run) { return run.vanished; });
    }
    double mean_skipped() const {
        return mean([](auto const& run) { return run.skipped; });
    }
    /// The sample's standard deviation; zero for one seed.
    double psnr_spread() const {
        if (runs.size() < 2) return 0;
        const double centre = mean_psnr(), n = static_cast<double>(runs.size());
        return std::sqrt(mean([&](auto const& run) { return (run.psnr - centre) * (run.psnr - centre); }) * n /
                         (n - 1));
    }
};

/// Seeds start from the same weights in every variant, so the difference of two means is
/// a mean of differences, and says more than their spreads.
inline void print_table(std::vector<variant_result> const& variants) {
    constexpr auto line = "{:<16} {:>13} {:>9} {:>10} {:>8} {:>11} {:>8}\n";
    fmt::print(line, "variant", "PSNR, dB", "vs " + variants.front().name, "vanished", "skipped", "bytes/param",
               "µs/step");
    for (auto const& v : variants)
        fmt::print(line, v.name, fmt::format("{:.2f} ± {:.2f}", v.mean_psnr(), v.psnr_spread()),
                   fmt::format("{:+.2f}", v.mean_psnr() - variants.front().mean_psnr()),
                   v.narrow ? fmt::format("{:.4f} %", 100 * v.mean_vanished()) : "-",
                   fmt::format("{:.1f}", v.mean_skipped()), v.parameter_bytes,
                   fmt::format("{:.0f}", v.mean([](auto const& r) { return r.step_microseconds; })));
}

inline void print_figures(std::vector<variant_result> const& variants) {
    for (auto const& v : variants) fmt::print("figure quality_{} {:.4f}\n", v.name, v.mean_psnr());
    for (auto const& v : variants)
        if (v.narrow) fmt::print("figure vanished_{} {:.6f}\n", v.name, v.mean_vanished());
    for (auto const& v : variants)
        if (v.narrow) fmt::print("figure skipped_{} {:g}\n", v.name, v.mean_skipped());
}

}  // namespace picture_fit
