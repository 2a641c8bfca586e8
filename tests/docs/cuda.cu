// SPDX-License-Identifier: Apache-2.0
// The snippets of docs/howto/cuda.md.
#include <catch.hpp>

#include <string>
#include <vector>

#include <halfstep/cuda.cuh>

namespace hs = halfstep;

namespace {

using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::dynamic_scaling{}, hs::clip_by_norm{}>;
constexpr std::int64_t size = 5000;

/// Device memory of the caller.
template <class T>
class memory {
  public:
    explicit memory(std::int64_t n, T value = T{}) {
        const std::vector<T> values(static_cast<std::size_t>(n), value);
        REQUIRE(cudaMalloc(&data_, values.size() * sizeof(T)) == cudaSuccess);
        REQUIRE(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
    }
    memory(memory const&) = delete;
    ~memory() { cudaFree(data_); }
    operator T*() const { return static_cast<T*>(data_); }

  private:
    void* data_ = nullptr;
};

// [snippet: kernel]
__global__ void loss_gradient(hs::fp16 const* output, float const* target, float const* loss_scale, hs::fp16* gradient,
                              int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        gradient[i] =
            hs::fp16(2 * *loss_scale / n * (hs::widen(output[i]) - target[i]));  // scaled before it is rounded
}
// [end]

struct fixture {
    memory<hs::fp16> weights{size, hs::fp16(1.0f)}, gradients{size};
    memory<float> target{size, 0.5f};
    cudaStream_t stream = nullptr;
    fixture() { REQUIRE(cudaStreamCreate(&stream) == cudaSuccess); }
    ~fixture() { cudaStreamDestroy(stream); }
};

}  // namespace

TEST_CASE_METHOD(fixture, "a step on a stream", "[cuda]") {
    // [snippet: step]
    hs::optimizer_step opt{recipe{}, hs::cuda_backend{stream}};
    opt.bind(hs::tensor_view<hs::fp16>{weights, {size}}, hs::tensor_view<hs::fp16 const>{gradients, {size}});

    for (int i = 0; i < 100; ++i) {
        loss_gradient<<<(size + 255) / 256, 256, 0, stream>>>(weights, target, opt.loss_scale(), gradients, size);
        opt.step(1e-3f);  // launches; returns at once
    }
    const hs::step_record last = opt.read_back();  // waits
    CHECK(last.step == 100);
    CHECK(last.applied);
    // [end]
    CHECK(opt.applied_steps() + opt.skipped_steps() == 100);
}

TEST_CASE_METHOD(fixture, "a captured step", "[cuda]") {
    memory<float> lr(1);
    hs::optimizer_step opt{recipe{}, hs::cuda_backend{stream}};
    opt.bind(hs::tensor_view<hs::fp16>{weights, {size}}, hs::tensor_view<hs::fp16 const>{gradients, {size}});
    // [snippet: graph]
    const auto iterate = [&] {
        loss_gradient<<<(size + 255) / 256, 256, 0, stream>>>(weights, target, opt.loss_scale(), gradients, size);
        opt.step({.lr = 0, .lr_in_memory = lr});  // lr: a float in device memory
    };
    cudaGraph_t graph;
    cudaGraphExec_t iteration;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    iterate();
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&iteration, graph, 0);

    for (int i = 0; i < 100; ++i) {
        const float rate = 1e-3f * static_cast<float>(100 - i) / 100;
        cudaMemcpyAsync(lr, &rate, sizeof rate, cudaMemcpyHostToDevice, stream);  // or a kernel that computes it
        cudaGraphLaunch(iteration, stream);
    }
    CHECK(opt.read_back().step == 100);
    // [end]
    CHECK(opt.last().applied);
    CHECK(opt.last().lr == 1e-3f * 1 / 100);
    cudaGraphExecDestroy(iteration);
    cudaGraphDestroy(graph);
}

TEST_CASE_METHOD(fixture, "memory of the wrong side", "[cuda]") {
    hs::optimizer_step opt{recipe{}, hs::cuda_backend{stream}};
    std::vector<hs::fp16> on_the_host(size);
    std::string said;
    try {
        opt.bind(on_the_host, hs::tensor_view<hs::fp16 const>{gradients, {size}});
    } catch (std::invalid_argument const& e) {
        said = e.what();
    }
    CHECK(said.find("lies in host memory, but the step runs on a device") != std::string::npos);
}
