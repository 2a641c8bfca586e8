// SPDX-License-Identifier: Apache-2.0
// Our recipes under Google Benchmark: time a parameter (per_parameter), and bytes a second against those that a step
// must move.
//   bench --benchmark_filter='fp16_step/1000000/1$'      recipe / parameters / threads
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "recipes.hpp"

namespace {

namespace hs = bench::hs;

template <class T>
class tensor {
  public:
    tensor(std::int64_t n, float magnitude) : memory_(static_cast<std::size_t>(n) * sizeof(T)), size_(n) {
        std::uint32_t state = 1;
        for (std::int64_t i = 0; i < n; ++i) {
            state = state * 1664525u + 1013904223u;
            const float uniform = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
            view().data()[i] = static_cast<T>(uniform * magnitude);
        }
    }
    hs::tensor_view<T> view() const { return {reinterpret_cast<T*>(memory_.data()), {size_}}; }

  private:
    hs::host::buffer memory_;
    std::int64_t size_;
};

template <class Recipe, class T>
void run(benchmark::State& state, double bytes) {
    const std::int64_t n = state.range(0);
    const tensor<T> parameters(n, 0.04f), gradients(n, 16);
    hs::optimizer_step step{Recipe{}, hs::host_backend{.threads = static_cast<int>(state.range(1))}};
    step.bind(parameters.view(), gradients.view());
    for (auto _ : state)
        if (!step.step(1e-4f).applied) return state.SkipWithError("a step was skipped");
    using benchmark::Counter;
    const double elements = static_cast<double>(n);
    state.counters["per_parameter"] = Counter(elements, Counter::kIsIterationInvariantRate | Counter::kInvert);
    state.counters["bytes_per_parameter"] = bytes;
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes * elements) *
                            static_cast<std::int64_t>(state.iterations()));
}

}  // namespace

int main(int argc, char** argv) {
    bench::for_each_recipe([]<class Recipe, class T>(bench::timed<Recipe, T> const& timed) {
        const double bytes = timed.bytes;
        auto* family = benchmark::RegisterBenchmark(std::string(timed.name).c_str(),
                                                    [bytes](benchmark::State& state) { run<Recipe, T>(state, bytes); });
        for (std::int64_t n : {10'000, 1'000'000, 100'000'000})
            for (std::int64_t threads : {1, 2}) family->Args({n, threads});
        family->UseRealTime()->Unit(benchmark::kMicrosecond);
    });
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
