// SPDX-License-Identifier: Apache-2.0
// One of the parts of the matrix on CUDA, HALFSTEP_MATRIX_PART. CMake compiles this file once a part.
#include <cstdlib>
#include <cstring>

#include <cuda/device_array.hpp>
#include <cuda/device_step.hpp>
#include <halfstep/cuda.cuh>

namespace matrix {

namespace {

template <class Recipe>
class device_step_of final : public device_step {
  public:
    void bind(byte_tensors const& parameters, byte_tensors const& gradients, int step) override {
        parameters_.write(parameters.bytes());
        gradients_.write(gradients.bytes());
        std::vector<hs::tensor_view<type>> views;
        for (int t = 0; t < tensor_count; ++t)
            views.push_back({reinterpret_cast<type*>(parameters_.data() + parameters.offset(t)), {tensor_sizes[t]}});
        step_.bind(views, gradient_views(gradients, step));
    }
    void set_gradients(byte_tensors const& gradients, int step) override {
        gradients_.write(gradients.bytes());
        step_.bind_gradients(gradient_views(gradients, step));
    }
    hs::step_record step(float lr) override {
        if (!replays_) {
            step_.step(lr);
        } else {  // captured at the first step, replayed with whatever then lies in memory
            lr_.write(std::vector{lr});
            if (graph_ == nullptr) capture();
            check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch");
        }
        return step_.read_back();
    }
    ~device_step_of() override {
        if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    }
    std::vector<std::byte> parameters() override { return parameters_.read(); }
    std::vector<std::byte> state() override {
        std::vector<std::byte> all;
        step_.visit_state([&](hs::state_entry const& e) {
            if (e.component != "control") all.insert(all.end(), e.bytes.begin(), e.bytes.end());
        });
        return all;
    }

  private:
    template <class Plan>
    struct type_of_group {
        using type = typename Plan::type;
    };
    using type = typename Recipe::composition::template with_plans<type_of_group>::type;

    std::vector<hs::tensor_view<type const>> gradient_views(byte_tensors const& gradients, int step) {
        std::vector<hs::tensor_view<type const>> views;
        for (int t = 0; t < tensor_count; ++t)
            views.push_back({has_gradient(t, step)
                                 ? reinterpret_cast<type const*>(gradients_.data() + gradients.offset(t))
                                 : nullptr,
                             {tensor_sizes[t]}});
        return views;
    }

    void capture() {
        cudaGraph_t graph = nullptr;
        check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
        step_.step(hs::step_input{.lr = 0, .lr_in_memory = lr_.data()});
        check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
        check(cudaGraphInstantiate(&graph_, graph, 0), "cudaGraphInstantiate");
        check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
    static void check(cudaError_t code, char const* call) { hs::cuda_detail::check(code, call); }

    bool replays_ = std::getenv("HALFSTEP_MATRIX_GRAPH") != nullptr;
    device_stream stream_;
    decltype(hs::optimizer_step(Recipe{}, hs::cuda_backend{})) step_{Recipe{}, hs::cuda_backend{stream_}};
    device_array<std::byte> parameters_, gradients_;
    device_array<float> lr_{1};
    cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

template <>
std::unique_ptr<device_step> make_device_step_in_part<HALFSTEP_MATRIX_PART>(int index) {
    std::unique_ptr<device_step> step;
    hs::for_each_index<recipe_count / part_count>([&](auto n) {
        constexpr int i = static_cast<int>(n) * part_count + HALFSTEP_MATRIX_PART;
        if (i == index) step = std::make_unique<device_step_of<recipe_at<i>>>();
    });
    return step;
}

}  // namespace matrix
