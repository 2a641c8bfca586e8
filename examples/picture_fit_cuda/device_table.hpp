// SPDX-License-Identifier: Apache-2.0
/// The table of all variants on a device, and the figures that other programs read.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "device_fit.hpp"

namespace picture_fit {

struct device_table_row {
    std::string_view name;
    std::size_t parameter_bytes;
    std::vector<device_result> runs;  ///< one a seed

    template <class Member>
    double mean(Member member) const {
        double sum = 0;
        for (auto const& run : runs) sum += static_cast<double>(run.*member);
        return sum / static_cast<double>(runs.size());
    }
};

inline void print_device_table(std::vector<device_table_row> const& rows) {
    constexpr auto line = "{:<16} {:>9} {:>9} {:>8} {:>11} {:>11} {:>13}\n";
    fmt::print(line, "variant", "PSNR, dB", "vs " + std::string(rows.front().name), "skipped", "loss scale",
               "bytes/param", "µs/iteration");
    const double first = rows.front().mean(&device_result::psnr);
    for (auto const& row : rows) {
        const double psnr = row.mean(&device_result::psnr);
        fmt::print(line, row.name, fmt::format("{:.2f}", psnr), fmt::format("{:+.2f}", psnr - first),
                   fmt::format("{:.1f}", row.mean(&device_result::skipped)),
                   fmt::format("{:g}", row.runs.front().loss_scale), row.parameter_bytes,
                   fmt::format("{:.0f}", row.mean(&device_result::step_microseconds)));
    }
    fmt::print("\n");
    for (auto const& row : rows)
        fmt::print("figure quality_cuda_{} {:.4f}\n", row.name, row.mean(&device_result::psnr));
}

}  // namespace picture_fit
