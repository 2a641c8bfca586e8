// SPDX-License-Identifier: Apache-2.0
/// Training on a device, as the program sees it: nothing here needs nvcc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../picture_fit/fit_result.hpp"

namespace picture_fit {

/// Who multiplies matrices.
enum class product_source { plain, cublas };

/// How a run stands, when it is asked.
struct device_progress {
    int step;
    double loss;
    float loss_scale;
    std::int64_t skipped;
};

struct device_job {
    picture target;
    fit_settings settings;
    product_source products = product_source::plain;
    int report_every = 20;         ///< steps; the host waits for nothing in between
    std::filesystem::path folder;  ///< for the curve of the loss scale
};

struct device_result : fit_result {  ///< step_microseconds: of a whole iteration
    float loss_scale = 1;            ///< at the end
};

/// A variant, one recipe of picture_fit/recipes.hpp.
struct device_variant {
    std::string_view name;
    std::size_t parameter_bytes;  ///< weights and optimizer state, a parameter
    device_result (*fit)(device_job const&, unsigned seed, std::function<void(device_progress const&)> const& report);
};

std::vector<device_variant> device_variants();
std::string device_name();
/// Where this program is linked with cuBLAS and the device can run it.
bool cublas_available();

}  // namespace picture_fit
