// SPDX-License-Identifier: Apache-2.0
// Every recipe on a device: picoseconds a parameter, against the bandwidth that a copy reaches on the same device.
//   device_bench [--sizes 1e6,1e7,1e8,1e9] [--seconds 0.3]      seconds: for each recipe and size
//   copy BYTES_A_SECOND
//   step RECIPE PARAMETERS BYTES_A_PARAMETER LAUNCHES PS_LAUNCHED PS_REPLAYED SHARE_OF_COPY
// A size that does not fit in the memory is left out, and said so.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <cuda/device_array.hpp>
#include <halfstep/cuda.cuh>
#include "device_timing.hpp"
#include "recipes.hpp"

namespace {

namespace hs = bench::hs;
using namespace bench;

template <class T>
__global__ void fill_kernel(T* out, std::int64_t n, float magnitude) {
    for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < n;
         i += std::int64_t{gridDim.x} * blockDim.x) {
        std::uint32_t hash = static_cast<std::uint32_t>(i) * 2654435761u;
        hash = (hash ^ (hash >> 15)) * 2246822519u;
        out[i] = hs::narrow<T>((static_cast<float>(hash >> 8) * 0x1p-24f - 0.5f) * magnitude);
    }
}

template <class T>
void fill(device_array<T> const& memory, float magnitude, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(memory.size() / 256 + 1 < 4096 ? memory.size() / 256 + 1 : 4096);
    fill_kernel<<<blocks, 256, 0, stream>>>(memory.data(), static_cast<std::int64_t>(memory.size()), magnitude);
}

/// Bytes read and written a second, of the largest copy that fits.
double copy_bandwidth(std::int64_t largest, double seconds, cudaStream_t stream) {
    const std::int64_t bytes = largest < (std::int64_t{1} << 30) ? largest : std::int64_t{1} << 30;
    const device_array<char> from(static_cast<std::size_t>(bytes)), to(static_cast<std::size_t>(bytes));
    succeeded(cudaMemsetAsync(from.data(), 1, static_cast<std::size_t>(bytes), stream));
    const double taken = median_seconds(stream, seconds, [&] {
        succeeded(
            cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
    });
    return 2 * static_cast<double>(bytes) / taken;
}

template <class Recipe, class T>
void measure(timed<Recipe, T> const& recipe, std::int64_t n, double seconds, double bandwidth, cudaStream_t stream) {
    const auto size = static_cast<std::size_t>(n);
    const device_array<T> parameters(size), gradients(size);
    const device_array<float> lr(1);
    fill(parameters, 0.04f, stream);
    fill(gradients, 16, stream);
    const float rate = 1e-4f;
    succeeded(cudaMemcpyAsync(lr.data(), &rate, sizeof rate, cudaMemcpyHostToDevice, stream));
    hs::optimizer_step step{Recipe{}, hs::cuda_backend{stream}};
    step.bind(hs::tensor_view<T>{parameters.data(), {n}}, hs::tensor_view<T const>{gradients.data(), {n}});

    const double launched = median_seconds(stream, seconds / 2, [&] { step.step(rate); });
    const captured_graph graph(stream, [&] { step.step({.lr = 0, .lr_in_memory = lr.data()}); });
    const double replayed = median_seconds(stream, seconds / 2, [&] { graph.launch(); });
    step.read_back();
    if (step.skipped_steps() != 0) throw std::runtime_error("a step was skipped: nothing was measured");
    const double elements = static_cast<double>(n), best = launched < replayed ? launched : replayed;
    std::printf("step %s %lld %g %zu %.4g %.4g %.4f\n", std::string(recipe.name).c_str(), static_cast<long long>(n),
                recipe.bytes, graph.nodes(), launched / elements * 1e12, replayed / elements * 1e12,
                recipe.bytes * elements / best / bandwidth);
    std::fflush(stdout);
}

std::vector<std::int64_t> parsed(char const* list) {
    std::vector<std::int64_t> sizes;
    for (char* rest = nullptr; *list != '\0'; list = *rest == ',' ? rest + 1 : rest) {
        sizes.push_back(static_cast<std::int64_t>(std::strtod(list, &rest)));
        if (sizes.back() < 1 || rest == list) throw std::invalid_argument("--sizes wants numbers like 1e6,1e8");
    }
    return sizes;
}

void run(std::vector<std::int64_t> const& sizes, double seconds) {
    device_stream stream;
    std::int64_t largest = 1;
    for (std::int64_t n : sizes) largest = n > largest ? n : largest;
    const double bandwidth = copy_bandwidth(16 * largest, seconds, stream);
    std::printf("copy %.4g\n", bandwidth);
    for (std::int64_t n : sizes)
        for_each_recipe([&]<class Recipe, class T>(timed<Recipe, T> const& recipe) {
            try {
                measure(recipe, n, seconds, bandwidth, stream);
            } catch (hs::cuda_error const& e) {
                if (e.code() != cudaErrorMemoryAllocation) throw;
                cudaGetLastError();
                std::printf("# %s with %lld parameters does not fit in this device's memory\n",
                            std::string(recipe.name).c_str(), static_cast<long long>(n));
            }
        });
}

}  // namespace

int main(int argc, char** argv) {
    try {
        std::vector<std::int64_t> sizes = parsed("1e6,1e7,1e8,1e9");
        double seconds = 0.3;
        for (int i = 1; i < argc; ++i) {
            const bool value = i + 1 < argc;
            if (value && std::strcmp(argv[i], "--sizes") == 0)
                sizes = parsed(argv[++i]);
            else if (value && std::strcmp(argv[i], "--seconds") == 0)
                seconds = std::atof(argv[++i]);
            else
                throw std::invalid_argument(std::string("unknown option ") + argv[i]);
        }
        run(sizes, seconds);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "device_bench: %s\n", e.what());
        return 1;
    }
}
