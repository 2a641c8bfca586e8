// SPDX-License-Identifier: Apache-2.0
// The training loop on a device. One iteration (the next learning rate, forward, backward, step) is captured and
// replayed; loss scale, learning rate and loss stay where the kernels are.
#include <halfstep/cuda.cuh>
#include <memory>

#include "../picture_fit/recipes.hpp"
#include "../picture_fit/scale_curve_file.hpp"
#include "device_fit.hpp"
#if defined(HALFSTEP_EXAMPLE_CUBLAS)
#include "cublas_products.hpp"
#endif
#include "device_network.cuh"
#include "plain_products.cuh"
#include "schedule.cuh"
#include "stopwatch.hpp"

namespace picture_fit {

namespace {

template <class T>
std::unique_ptr<products<T>> make_products(product_source source, cudaStream_t stream) {
#if defined(HALFSTEP_EXAMPLE_CUBLAS)
    if (source == product_source::cublas) return std::make_unique<cublas_products<T>>(stream);
#endif
    if (source == product_source::cublas) throw std::invalid_argument("this program was built without cuBLAS");
    return std::make_unique<plain_products<T>>(stream);
}

using observer = std::function<void(device_progress const&)>;

/// `values` replace some of the recipe's.
template <hs::storage_type T, class Recipe, class... Values>
device_result fit(device_job const& job, unsigned seed, observer const& report, Values const&... values) {
    stream stream;
    const auto products = make_products<T>(job.products, stream);
    device_network<T> net(job.settings.shape, job.target, seed, *products, stream);
    schedule schedule(job.settings);
    hs::optimizer_step opt{Recipe{}, hs::cuda_backend{stream}, values...};
    opt.bind(net.parameters(), net.gradients());

    const auto iterate = [&] {
        schedule.advance(stream);
        net.backward(opt.loss_scale(), schedule.loss());  // kernels read the scale: it is a pointer
        opt.step({.lr = 0, .lr_in_memory = schedule.lr(), .loss_in_memory = schedule.loss()});  // nobody waits
    };
    iterate();  // the first one as it is, which loads the kernels
    const graph iteration(stream, iterate);
    stopwatch watch(stream);
    for (int i = 1; i < job.settings.steps; ++i) {
        iteration.launch();
        if ((i + 1) % job.report_every == 0) {
            const hs::step_record last = opt.read_back();  // waits
            report({i + 1, schedule.read_loss(stream), last.next_loss_scale, opt.skipped_steps()});
        }
    }
    device_result result;
    result.step_microseconds = watch.microseconds() / (job.settings.steps - 1);
    result.loss_scale = opt.read_back().next_loss_scale;
    result.skipped = opt.skipped_steps();
    result.drawn = net.draw();
    result.psnr = psnr(result.drawn, job.target);
    return result;
}

template <hs::storage_type T, class Recipe>
constexpr std::size_t bytes =
    sizeof(T) + decltype(hs::optimizer_step{Recipe{}})::template state_bytes<hs::everything>();

template <hs::storage_type T, class Recipe>
device_variant variant(std::string_view name) {
    return {name, bytes<T, Recipe>, [](device_job const& job, unsigned seed, observer const& report) {
                return fit<T, Recipe>(job, seed, report);
            }};
}

}  // namespace

std::vector<device_variant> device_variants() {
    return {variant<float, recipes::fp32>("fp32"),
            {"fp16_dynamic", bytes<hs::fp16, recipes::fp16_dynamic>,
             [](device_job const& job, unsigned seed, observer const& report) {
                 return fit<hs::fp16, recipes::fp16_dynamic>(job, seed, report, scale_curve_in(job.folder, seed));
             }},
            {"bf16_stochastic", bytes<hs::bf16, recipes::bf16_stochastic>,
             [](device_job const& job, unsigned seed, observer const& report) {
                 return fit<hs::bf16, recipes::bf16_stochastic>(job, seed, report,
                                                                hs::stochastic_rounding{.seed = seed});
             }}};
}

std::string device_name() {
    cudaDeviceProp properties{};
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return properties.name;
}

bool cublas_available() {
#if defined(HALFSTEP_EXAMPLE_CUBLAS)
    return device_name().find("interpreter") == std::string::npos;  // an interpreter of PTX has no tensor cores
#else
    return false;
#endif
}

}  // namespace picture_fit
