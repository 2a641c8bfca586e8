// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <new>
#include <step/helpers.hpp>

namespace {

struct encoder;
using recipe = hs::recipe<hs::group<encoder, hs::bf16>{}, hs::sgd<hs::classical_momentum>{}>;

using parameter = hs::tensor_view<hs::bf16>;
using gradient = hs::tensor_view<hs::bf16 const>;

/// A step with two tensors bound, and what has to be the same after a refused bind.
struct bound_step {
    std::vector<hs::bf16> p = values<hs::bf16>(100, 1), q = values<hs::bf16>(7, 2), g = values<hs::bf16>(100, 3),
                          h = values<hs::bf16>(7, 4);
    hs::optimizer_step<typename recipe::composition> step{recipe{}};

    bound_step() {
        step.bind<encoder>(std::array{parameter(p), parameter(q)}, std::array{gradient(g), gradient(h)});
        step.step(0.1f);
    }
};

/// `bind(parameters, gradients)` is refused in these words, and the step goes on as if nothing had been said.
template <class Parameters, class Gradients>
void refused(Parameters const& parameters, Gradients const& gradients, std::vector<std::string> const& words) {
    bound_step with_error, without;
    const auto message =
        message_of<std::invalid_argument>([&] { with_error.step.bind<encoder>(parameters, gradients); });
    INFO(message);
    for (auto const& word : words) REQUIRE(contains(message, word));
    REQUIRE((state_of(with_error.step) == state_of(without.step)));
    REQUIRE(with_error.step.step(0.1f).applied_steps == without.step.step(0.1f).applied_steps);
    REQUIRE(with_error.p == without.p);
    REQUIRE(with_error.q == without.q);
    REQUIRE((state_of(with_error.step) == state_of(without.step)));
}

std::vector<hs::bf16> more(30);
/// An address that no bf16 has.
template <class T>
T* odd_address() {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(more.data()) + 1);
}

}  // namespace

TEST_CASE("numbers of tensors that differ are refused", "[step]") {
    refused(std::array{parameter(more), parameter(more)}, std::array{gradient(more)},
            {"group 'encoder'", "2 parameters", "1 gradients"});
    refused(std::array{parameter(more)}, std::vector<gradient>{}, {"group 'encoder'", "1 parameters", "0 gradients"});
}

TEST_CASE("a gradient of another size is refused, with the tensor's number and name", "[step]") {
    refused(std::array{parameter(more), parameter(more.data(), {5, 6}, "layer.3.weight")},
            std::array{gradient(more), gradient(more.data(), {29})},
            {"tensor 1", "group 'encoder'", "'layer.3.weight'", "30 elements", "29"});
}

TEST_CASE("elements without data are refused", "[step]") {
    refused(std::array{parameter(nullptr, {3}, "bias")}, std::array{gradient(nullptr, {3})},
            {"tensor 0", "group 'encoder'", "'bias'", "no data"});
}

TEST_CASE("an address that the type does not have is refused", "[step]") {
    refused(std::array{parameter(odd_address<hs::bf16>(), {3}, "bias")}, std::array{gradient(nullptr, {3})},
            {"tensor 0", "group 'encoder'", "'bias'", "parameter", "aligned"});
    refused(std::array{parameter(more), parameter(more.data(), {3}, "bias")},
            std::array{gradient(more), gradient(odd_address<hs::bf16 const>(), {3})},
            {"tensor 1", "group 'encoder'", "'bias'", "gradient", "aligned"});
}

TEST_CASE("more elements than memory can hold are refused before any is touched", "[step]") {
    constexpr std::int64_t huge = std::int64_t{1} << 59;
    refused(std::array{parameter(more.data(), {huge}), parameter(more.data(), {huge})},
            std::array{gradient(nullptr, {huge}), gradient(nullptr, {huge})}, {"group 'encoder'", "more elements"});
}

namespace {

/// The host's, but there is memory for so many more buffers only.
struct short_of_memory : hs::host_backend {
    int* left = nullptr;
    buffer allocate(std::size_t bytes) const {
        if (--*left < 0) throw std::bad_alloc();
        return hs::host_backend::allocate(bytes);
    }
};

}  // namespace

TEST_CASE("memory that runs out during bind leaves the group as it was", "[step]") {
    int buffers = 0;
    for (bool bound = false; !bound; ++buffers) {
        INFO("memory for " << buffers << " buffers");
        auto p = values<hs::bf16>(5000, 1), q = p, unused = p;
        const auto g = values<hs::bf16>(5000, 2);
        int left = 100;
        hs::optimizer_step step{recipe{}, short_of_memory{{}, &left}};
        hs::optimizer_step expected{recipe{}};
        step.bind<encoder>(p, g);
        expected.bind<encoder>(q, g);
        step.step(0.1f);
        expected.step(0.1f);
        left = buffers;
        try {
            step.bind<encoder>(unused, g);
            bound = true;
        } catch (std::bad_alloc const&) {
            step.step(0.1f);
            expected.step(0.1f);
            REQUIRE(p == q);
            REQUIRE((state_of(step) == state_of(expected)));
        }
    }
    REQUIRE(buffers > 3);  // or none was refused half-way
}

TEST_CASE("new gradients that do not match are refused, and the old ones stay", "[step]") {
    bound_step with_error, without;
    const auto refuse = [&](auto const& gradients, char const* words) {
        const auto message =
            message_of<std::invalid_argument>([&] { with_error.step.bind_gradients<encoder>(gradients); });
        INFO(message);
        REQUIRE(contains(message, words));
    };
    refuse(std::array{gradient(more)}, "2 parameters but 1 gradients");
    refuse(std::array{gradient(with_error.g), gradient(more)}, "tensor 1 of group 'encoder' has 7 elements");
    refuse(std::array{gradient(with_error.g), gradient(odd_address<hs::bf16 const>(), {7})}, "aligned");
    with_error.step.step(0.1f);
    without.step.step(0.1f);
    REQUIRE(with_error.p == without.p);
    REQUIRE(with_error.q == without.q);

    hs::optimizer_step unbound{recipe{}};
    REQUIRE_THROWS_AS(unbound.bind_gradients<encoder>(std::array{gradient(more)}), std::logic_error);
}

TEST_CASE("a first bind that fails leaves the group unbound", "[step]") {
    hs::optimizer_step step{recipe{}};
    REQUIRE_THROWS_AS(step.bind<encoder>(std::array{parameter(more)}, std::vector<gradient>{}), std::invalid_argument);
    REQUIRE_THROWS_AS(step.step(0.1f), std::logic_error);
}
