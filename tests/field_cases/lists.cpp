// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <halfstep/halfstep.hpp>
#include <vector>

namespace hs = halfstep;

namespace {

/// Tensors of the given sizes, all elements 1 with a gradient of 1, after one step with a learning rate of 0.1.
template <class Recipe>
std::vector<std::vector<float>> after_a_step(Recipe, std::vector<std::size_t> const& sizes, int threads) {
    std::vector<std::vector<float>> parameters, gradients;
    for (std::size_t size : sizes) {
        parameters.emplace_back(size, 1.0f);
        gradients.emplace_back(size, 1.0f);
    }
    hs::optimizer_step step{Recipe{}, hs::host_backend{.threads = threads, .elements_per_thread = 1}};
    step.bind(parameters, gradients);
    CHECK(step.step(0.1f).applied);
    return parameters;
}

struct half;
struct full;
struct brain;
using half_group = hs::group<half, hs::fp16>;
using full_group = hs::group<full, float>;
using brain_group = hs::group<brain, hs::bf16, float>;

/// One step of three groups of three dtypes.
template <class Recipe>
void check_mixed(Recipe) {
    std::array<hs::fp16, 1> p0{hs::fp16(1.0f)}, g0{hs::fp16(1.0f)};
    std::array<float, 1> p1{1}, g1{1}, g2{1};
    std::array<hs::bf16, 1> p2{hs::bf16(1.0f)};
    hs::optimizer_step step{Recipe{}};
    step.template bind<half>(p0, g0);
    step.template bind<full>(p1, g1);
    step.template bind<brain>(p2, g2);
    CHECK(step.step(0.5f).applied);
    CHECK(p0[0].bits == 0x3800);
    CHECK(hs::bits_of(p1[0]) == 0x3F000000);
    CHECK(p2[0].bits == 0x3F00);
}

}  // namespace

TEST_CASE("7.3 An empty tensor at the end of a list") {
    using sgd = hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>;
    using adam = hs::recipe<hs::dtype<float>{}, hs::adam{}>;
    for (int threads : {1, 2})
        for (auto const& result :
             {after_a_step(sgd{}, {1, 1, 0, 1, 0}, threads), after_a_step(adam{}, {1, 1, 0, 1, 0}, threads),
              after_a_step(sgd{}, {0, 1, 1, 0, 1}, threads)}) {
            int elements = 0;
            for (auto const& tensor : result)
                for (float x : tensor) {
                    CHECK(x == Approx(0.9f).epsilon(0).margin(6e-8));
                    ++elements;
                }
            CHECK(elements == 3);
        }
    CHECK(after_a_step(sgd{}, {0, 0}, 1).size() == 2);
    CHECK(after_a_step(sgd{}, {}, 1).empty());
}

TEST_CASE("7.4 Mixed dtypes in one step") {
    check_mixed(hs::recipe<half_group{}, full_group{}, brain_group{}, hs::sgd<>{}, hs::static_scaling{1}>{});
    check_mixed(hs::recipe<brain_group{}, half_group{}, full_group{}, hs::sgd<>{}, hs::static_scaling{1}>{});
    check_mixed(hs::recipe<full_group{}, hs::sgd<>{}, brain_group{}, hs::static_scaling{1}, half_group{}>{});
}
