// SPDX-License-Identifier: Apache-2.0
// What goes wrong on a device: an exception that names the tensor or the call, and a step that is as it was.
#include <catch.hpp>

#include <functional>
#include <string>
#include <vector>

#include <cuda/device_array.hpp>
#include <halfstep/cuda.cuh>

namespace hs = halfstep;

namespace {

using recipe = hs::recipe<hs::fp16{}, hs::adamw{}>;

/// A step that is bound to a hundred parameters.
struct bound_step {
    bound_step() {
        parameters.write(std::vector<hs::fp16>(100, hs::fp16(1.0f)));
        gradients.write(std::vector<hs::fp16>(100, hs::fp16(0.5f)));
        opt.bind(p(), g());
    }
    hs::tensor_view<hs::fp16> p() const { return {parameters.data(), {100}}; }
    hs::tensor_view<hs::fp16 const> g() const { return {gradients.data(), {100}}; }
    void require_usable() {
        const auto before = opt.read_back().applied_steps;
        opt.step(0.1f);
        REQUIRE(opt.read_back().applied_steps == before + 1);
    }
    device_stream s;
    device_array<hs::fp16> parameters{100}, gradients{100};
    decltype(hs::optimizer_step(recipe{}, hs::cuda_backend{})) opt{recipe{}, hs::cuda_backend{s}};
};

template <class Error>
std::string sentence(std::function<void()> const& f) {
    try {
        f();
    } catch (Error const& e) {
        return e.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEST_CASE("an allocation that fails in bind names the call, and the step is as before", "[cuda]") {
    bound_step one;
    one.opt.step(0.1f);
    const auto before = one.parameters.read();
    std::size_t free = 0, total = 0;
    REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
    // Addresses are enough: bind reads nothing before it has its memory.
    const auto many = static_cast<std::int64_t>(total / 8);
    void* rest = nullptr;
    REQUIRE(cudaMalloc(&rest, free - free / 8) == cudaSuccess);
    const hs::tensor_view<hs::fp16> huge(static_cast<hs::fp16*>(rest), {many});
    const std::string text = sentence<hs::cuda_error>([&] { one.opt.bind(huge, huge); });
    REQUIRE(text.find("cudaMalloc of ") != std::string::npos);
    REQUIRE(text.find("cudaErrorMemoryAllocation") != std::string::npos);
    REQUIRE(text.find("lost") == std::string::npos);
    REQUIRE(cudaFree(rest) == cudaSuccess);
    REQUIRE(one.parameters.read() == before);
    one.require_usable();
}

TEST_CASE("an error that nobody asked for yet is not taken for one of the step's", "[cuda]") {
    bound_step one;
    void* nothing = nullptr;
    REQUIRE(cudaMalloc(&nothing, static_cast<std::size_t>(-1) / 2) == cudaErrorMemoryAllocation);
    REQUIRE(sentence<hs::cuda_error>([&] {
                one.opt.step(0.1f);
            }).find("a CUDA call before this one failed: cudaErrorMemoryAllocation") != std::string::npos);
    one.require_usable();
}

TEST_CASE("what a graph cannot hold is refused while the stream is captured; the step goes on", "[cuda]") {
    bound_step one;
    one.opt.step(0.1f);
    REQUIRE(one.opt.read_back().applied);
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamBeginCapture(one.s, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    for (auto const& call :
         std::vector<std::function<void()>>{[&] { one.opt.bind(one.p(), one.g()); },
                                            [&] { one.opt.bind_gradients(one.g()); }, [&] { one.opt.read_back(); }})
        REQUIRE(sentence<std::logic_error>(call).find("the step's stream is being captured") != std::string::npos);
    one.opt.step(0.1f);
    REQUIRE(cudaStreamEndCapture(one.s, &graph) == cudaSuccess);
    std::size_t nodes = 0;
    REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
    REQUIRE(nodes == 2);  // inspect and decide, update
    REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
    one.require_usable();
}

TEST_CASE("a step runs on its stream's device and leaves the caller's current; tensors of another device are refused",
          "[.devices]") {
    int devices = 0;
    REQUIRE(cudaGetDeviceCount(&devices) == cudaSuccess);
    if (devices < 2) {
        WARN("one device here: nothing to tell apart");
        return;
    }
    bound_step zero;
    REQUIRE(cudaSetDevice(1) == cudaSuccess);
    bound_step one;
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    one.require_usable();
    int current = -1;
    REQUIRE((cudaGetDevice(&current) == cudaSuccess && current == 0));
    const std::string text = sentence<std::invalid_argument>([&] { zero.opt.bind(zero.p(), one.g()); });
    REQUIRE(text.find("tensor 0 of group 'everything': its gradient lies on device 1, but the step runs on device 0") !=
            std::string::npos);
    zero.require_usable();
    REQUIRE(zero.parameters.read() == one.parameters.read());
}

namespace {
__global__ void fail() { asm("trap;"); }
}  // namespace

TEST_CASE("after a fault on the device a step says that it is gone", "[.lost]") {
    bound_step one;
    fail<<<1, 1, 0, one.s>>>();
    cudaStreamSynchronize(one.s);
    try {
        one.opt.step(0.1f);
        one.opt.read_back();
        FAIL("the fault went unnoticed");
    } catch (hs::cuda_error const& e) {
        REQUIRE(e.lost_device());
        REQUIRE(std::string(e.what()).find("the device's context is lost, and this step with it") != std::string::npos);
    }
}
