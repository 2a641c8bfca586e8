// SPDX-License-Identifier: Apache-2.0
// The CUDA step as a user meets it: several groups, sizes around every boundary, misaligned views, gradients that move,
// graphs, errors.
#include <catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <cuda/device_array.hpp>
#include <halfstep/cuda.cuh>

namespace hs = halfstep;

namespace {

struct backbone;
struct embedding;
struct head;
using mixed =
    hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<embedding, float>{}, hs::group<head, hs::fp16, float>{},
               hs::adamw{.weight_decay = 0.1f}, hs::dynamic_scaling{.initial_scale = 1024, .growth_interval = 3},
               hs::clip_by_norm{.max_norm = 0.5f}, hs::on<backbone, hs::stochastic_rounding{.seed = 3}>{}>;

float value_at(std::uint32_t n) {
    n = (n ^ (n >> 16)) * 0x45D9F3Bu;
    n = (n ^ (n >> 15)) * 0x2C1B3C6Du;
    return static_cast<float>(static_cast<int>(n >> 8) - (1 << 23)) * 0x1p-26f;
}

/// A tensor on both sides, `skew` elements into its allocation.
template <class T>
struct twin {
    explicit twin(std::int64_t size, std::uint32_t seed, std::size_t skew = 0)
        : host(static_cast<std::size_t>(size) + skew), device(host.size()), skew(skew) {
        fill(seed);
    }
    void fill(std::uint32_t seed) {
        for (std::size_t i = 0; i < host.size(); ++i)
            host[i] = hs::narrow<T>(value_at(static_cast<std::uint32_t>(i) * 7 + seed));
        thrust::copy(host.begin(), host.end(), device.begin());
    }
    void poke(std::size_t i, float x) {
        host[i] = hs::narrow<T>(x);
        device[i] = host[i];
    }
    std::int64_t size() const { return static_cast<std::int64_t>(host.size() - skew); }
    hs::tensor_view<T> on_host() { return {host.data() + skew, {size()}}; }
    hs::tensor_view<T> on_device() { return {thrust::raw_pointer_cast(device.data()) + skew, {size()}}; }
    bool same() const {
        std::vector<T> copy(host.size());
        thrust::copy(device.begin(), device.end(), copy.begin());
        return std::memcmp(copy.data(), host.data(), host.size() * sizeof(T)) == 0;
    }
    std::vector<T> host;
    thrust::device_vector<T> device;
    std::size_t skew;
};

template <class Host, class Device>
bool same_state(Host& host, Device& device) {
    std::vector<std::byte> a, b;
    host.visit_state([&](hs::state_entry const& e) {
        if (e.component != "control") a.insert(a.end(), e.bytes.begin(), e.bytes.end());
    });
    device.visit_state([&](hs::state_entry const& e) {
        if (e.component != "control") b.insert(b.end(), e.bytes.begin(), e.bytes.end());
    });
    return a == b;
}

}  // namespace

TEST_CASE("groups of different dtypes, any size and any alignment give the host's bits", "[cuda]") {
    const std::int64_t size = GENERATE(0, 1, 255, 256, 257, 4097, 100003);
    const std::size_t skew = GENERATE(0u, 1u, 3u);
    CAPTURE(size, skew);
    device_stream s;
    hs::optimizer_step host{mixed{}};
    hs::optimizer_step device{mixed{}, hs::cuda_backend{s}};
    twin<hs::bf16> p0(size, 1, skew), g0(size, 2);
    twin<float> p1(300, 3), g1(300, 4, skew);
    twin<hs::fp16> p2(size + 5, 5, skew);
    twin<float> g2(size + 5, 6);
    host.bind<backbone>(p0.on_host(), g0.on_host());
    host.bind<embedding>(p1.on_host(), g1.on_host());
    host.bind<head>(p2.on_host(), g2.on_host());
    device.bind<backbone>(p0.on_device(), g0.on_device());
    device.bind<embedding>(p1.on_device(), g1.on_device());
    device.bind<head>(p2.on_device(), g2.on_device());
    for (int t = 0; t < 8; ++t) {
        g0.fill(10 + t);
        g1.fill(20 + t);
        g2.fill(30 + t);
        if (t == 2) g1.poke(skew + 299, std::numeric_limits<float>::infinity());
        if (t == 5) g2.poke(2, std::numeric_limits<float>::quiet_NaN());
        const auto a = host.step(0.01f * static_cast<float>(1 + t % 2));
        device.step(0.01f * static_cast<float>(1 + t % 2));
        const auto b = device.read_back();
        REQUIRE(a.applied == b.applied);
        REQUIRE(a.next_loss_scale == b.next_loss_scale);
        REQUIRE(a.applied_steps == b.applied_steps);
        REQUIRE((p0.same() && p1.same() && p2.same()));
    }
    REQUIRE(host.skipped_steps() == 2);
    REQUIRE(same_state(host, device));
}

struct decayed;
struct undecayed;
struct slow;

TEST_CASE("groups of one element layout, and of several inspections, give the host's bits", "[cuda]") {
    using recipe = hs::recipe<hs::group<decayed, hs::fp16>{}, hs::group<undecayed, hs::fp16>{.weight_decay_factor = 0},
                              hs::group<slow, hs::fp16>{.lr_factor = 0.1f}, hs::adamw{.weight_decay = 0.1f},
                              hs::dynamic_scaling{.initial_scale = 256}, hs::on<slow, hs::norm_check{}>{}>;
    const std::int64_t first = GENERATE(0, 5000), second = GENERATE(0, 131073), third = GENERATE(0, 40);
    CAPTURE(first, second, third);
    device_stream s;
    hs::optimizer_step host{recipe{}};
    hs::optimizer_step device{recipe{}, hs::cuda_backend{s}};
    twin<hs::fp16> p0(first, 1), g0(first, 2), p1(second, 3), g1(second, 4), p2(third, 5), g2(third, 6);
    host.bind<decayed>(p0.on_host(), g0.on_host());
    host.bind<undecayed>(p1.on_host(), g1.on_host());
    host.bind<slow>(p2.on_host(), g2.on_host());
    device.bind<decayed>(p0.on_device(), g0.on_device());
    device.bind<undecayed>(p1.on_device(), g1.on_device());
    device.bind<slow>(p2.on_device(), g2.on_device());
    for (int t = 0; t < 4; ++t) {
        g0.fill(10 + t);
        g1.fill(20 + t);
        g2.fill(30 + t);
        if (t == 1 && second > 0) g1.poke(static_cast<std::size_t>(second) - 1, std::numeric_limits<float>::infinity());
        if (t == 2 && third > 0) g2.poke(7, std::numeric_limits<float>::quiet_NaN());
        const auto a = host.step(0.01f);
        device.step(0.01f);
        REQUIRE(device.read_back().applied == a.applied);
        REQUIRE((p0.same() && p1.same() && p2.same()));
    }
    REQUIRE(host.skipped_steps() == (second > 0) + (third > 0));
    REQUIRE(same_state(host, device));
}

TEST_CASE("a parameter without a gradient counts its own updates on the device too", "[cuda]") {
    using recipe = hs::recipe<hs::dtype<float>{}, hs::adamw{}>;
    device_stream s;
    hs::optimizer_step host{recipe{}};
    hs::optimizer_step device{recipe{}, hs::cuda_backend{s}};
    twin<float> a(10, 1), b(5000, 2), ga(10, 3), gb(5000, 4);
    const auto views = [](auto&&... v) { return std::vector{hs::tensor_view<float const>(v)...}; };
    host.bind(std::vector{a.on_host(), b.on_host()}, views(ga.on_host(), hs::tensor_view<float>(nullptr, {5000})));
    device.bind(std::vector{a.on_device(), b.on_device()},
                views(ga.on_device(), hs::tensor_view<float>(nullptr, {5000})));
    host.step(0.1f);
    device.step(0.1f);
    host.bind_gradients(views(ga.on_host(), gb.on_host()));
    device.bind_gradients(views(ga.on_device(), gb.on_device()));
    for (int t = 0; t < 3; ++t) {
        host.step(0.1f);
        device.step(0.1f);
    }
    device.read_back();
    REQUIRE((a.same() && b.same()));
    REQUIRE(same_state(host, device));
}

TEST_CASE("gradients at new addresses each step, with no wait between: every step sees its own", "[cuda]") {
    using recipe = hs::recipe<hs::bf16{}, hs::lion{}>;
    device_stream s;
    hs::optimizer_step host{recipe{}};
    hs::optimizer_step device{recipe{}, hs::cuda_backend{s}};
    twin<hs::bf16> p(5000, 1), even(5000, 2), odd(5000, 3);
    host.bind(p.on_host(), even.on_host());
    device.bind(p.on_device(), even.on_device());
    for (int t = 0; t < 9; ++t) {
        auto& g = t % 2 == 0 ? even : odd;
        host.bind_gradients(g.on_host());
        device.bind_gradients(g.on_device());
        host.step(0.01f * static_cast<float>(1 + t));
        device.step(0.01f * static_cast<float>(1 + t));
    }
    REQUIRE(device.read_back().applied_steps == 9);
    REQUIRE(p.same());
    REQUIRE(same_state(host, device));
}

TEST_CASE("10.3 the step can be captured and replayed", "[cuda]") {
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::clip_by_norm{},
                              hs::dynamic_scaling{.initial_scale = 64, .growth_interval = 2}>;
    device_stream s;
    hs::optimizer_step plain{recipe{}};
    hs::optimizer_step replayed{recipe{}, hs::cuda_backend{s}};
    twin<hs::fp16> p(5000, 1), g(5000, 2);
    thrust::device_vector<float> lr(1, 0.1f);
    plain.bind(p.on_host(), g.on_host());
    replayed.bind(p.on_device(), g.on_device());

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaSuccess);
    replayed.step(hs::step_input{.lr = 0, .lr_in_memory = thrust::raw_pointer_cast(lr.data())});
    REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    REQUIRE(replayed.read_back().step == 0);  // captured, not run

    for (int t = 0; t < 5; ++t) {
        g.fill(100 + t);
        if (t == 1) g.poke(4321, std::numeric_limits<float>::infinity());
        if (t == 2) lr[0] = 0.01f;
        const auto expected = plain.step(t < 2 ? 0.1f : 0.01f);
        REQUIRE(cudaGraphLaunch(executable, s) == cudaSuccess);
        const auto got = replayed.read_back();
        REQUIRE(got.applied == (t != 1));
        REQUIRE(got.applied == expected.applied);
        REQUIRE(got.next_loss_scale == expected.next_loss_scale);
        REQUIRE(got.applied_steps == expected.applied_steps);
        REQUIRE(p.same());
    }
    REQUIRE(same_state(plain, replayed));
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
}

TEST_CASE("with a learning rate in memory that is none, a step is skipped and the loss scale stays", "[cuda]") {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::dynamic_scaling{.initial_scale = 8, .growth_interval = 1}>;
    device_stream s;
    hs::optimizer_step step{recipe{}, hs::cuda_backend{s}};
    twin<hs::fp16> p(10, 1), g(10, 2);
    step.bind(p.on_device(), g.on_device());
    thrust::device_vector<float> lr(1), loss(1, 3.0f);
    const hs::step_input in{.lr = 0,
                            .lr_in_memory = thrust::raw_pointer_cast(lr.data()),
                            .loss_in_memory = thrust::raw_pointer_cast(loss.data())};
    for (float bad : {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        lr[0] = bad;
        step.step(in);
        const auto seen = step.read_back();
        REQUIRE(!seen.applied);
        REQUIRE(seen.next_loss_scale == 8);
        REQUIRE(seen.loss == 3);
        REQUIRE(p.same());
    }
    lr[0] = 0.5f;
    step.step(in);
    REQUIRE(step.read_back().applied);
    REQUIRE(step.skipped_steps() == 3);
    REQUIRE(step.last().next_loss_scale == 16);
}

TEST_CASE("a report on each tensor says which one overflowed, as on the host", "[cuda]") {
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::clip_by_norm{}, hs::nonfinite_check{}>;
    device_stream s;
    hs::optimizer_step host{recipe{}};
    hs::optimizer_step device{recipe{}, hs::cuda_backend{s}};
    twin<hs::fp16> a(9000, 1), b(0, 2), c(77, 3), ga(9000, 4), gb(0, 5), gc(77, 6);
    host.bind(std::vector{a.on_host(), b.on_host(), c.on_host()},
              std::vector{ga.on_host(), gb.on_host(), gc.on_host()});
    device.bind(std::vector{a.on_device(), b.on_device(), c.on_device()},
                std::vector{ga.on_device(), gb.on_device(), gc.on_device()});
    gc.poke(70, std::numeric_limits<float>::infinity());
    host.step(0.1f);
    device.step(0.1f);
    const auto expected = host.tensor_reports<hs::everything>(), got = device.tensor_reports<hs::everything>();
    REQUIRE((got.size() == 3 && expected.size() == 3));
    REQUIRE((!got[0].flagged && !got[1].flagged && got[2].flagged));
    for (std::size_t t = 0; t < 3; ++t) {
        REQUIRE(got[t].flagged == expected[t].flagged);
        REQUIRE(got[t].largest_magnitude == expected[t].largest_magnitude);
    }
    REQUIRE(got[1].sum_of_squares == 0);
    REQUIRE(std::fabs(got[0].sum_of_squares - expected[0].sum_of_squares) <= 1e-14 * expected[0].sum_of_squares);
}

TEST_CASE("the loss scale is read on the device, telemetry is drained by read_back", "[cuda]") {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::dynamic_scaling{.initial_scale = 8, .growth_interval = 1},
                              hs::scale_curve<>{}>;
    device_stream s;
    hs::optimizer_step step{recipe{}, hs::cuda_backend{s}, hs::scale_curve<>{.path = "device_scale_curve.csv"}};
    twin<hs::fp16> p(10, 1), g(10, 2);
    step.bind(p.on_device(), g.on_device());
    float scale = 0;
    REQUIRE(cudaMemcpy(&scale, step.loss_scale(), sizeof scale, cudaMemcpyDeviceToHost) == cudaSuccess);
    REQUIRE(scale == 8);
    for (int t = 0; t < 3; ++t) step.step(0.1f);
    REQUIRE(step.applied_steps() == 0);  // not read back yet
    REQUIRE(step.read_back().next_loss_scale == 64);
    REQUIRE(step.applied_steps() == 3);
    std::FILE* file = std::fopen("device_scale_curve.csv", "r");
    REQUIRE(file != nullptr);
    int lines = 0;
    for (int c; (c = std::fgetc(file)) != EOF;) lines += c == '\n';
    std::fclose(file);
    REQUIRE(lines == 4);
}

TEST_CASE("host tensors bound to a CUDA step are refused by name, and the step stays usable", "[cuda]") {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}>;
    device_stream s;
    hs::optimizer_step step{recipe{}, hs::cuda_backend{s}};
    twin<hs::fp16> p(100, 1), g(100, 2);
    step.bind(p.on_device(), g.on_device());
    try {
        step.bind(p.on_host(), g.on_device());
        FAIL("a host tensor was bound");
    } catch (std::invalid_argument const& e) {
        REQUIRE(std::string(e.what()).find("tensor 0 of group 'everything'") != std::string::npos);
        REQUIRE(std::string(e.what()).find("lies in host memory") != std::string::npos);
    }
    step.step(0.1f);
    REQUIRE(step.read_back().applied);
}

TEST_CASE("an error of an earlier asynchronous call is thrown by the call that meets it", "[cuda]") {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}>;
    device_stream s;
    hs::optimizer_step step{recipe{}, hs::cuda_backend{s}};
    twin<hs::fp16> p(100, 1), g(100, 2);
    step.bind(p.on_device(), g.on_device());
    cudaMemcpyAsync(nullptr, nullptr, 1, cudaMemcpyDeviceToDevice, s);  // leaves an error behind
    try {
        step.step(0.1f);
        FAIL("the error went unnoticed");
    } catch (hs::cuda_error const& e) {
        REQUIRE(e.code() == cudaErrorInvalidValue);
    }
    step.step(0.1f);
    REQUIRE(step.read_back().applied);
}
