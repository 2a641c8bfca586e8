// SPDX-License-Identifier: Apache-2.0
// Types of other libraries with the bits of ours: viewed and trained in place, never copied.
#include <bit>
#include <catch.hpp>
#include <cstdint>
#include <halfstep/halfstep.hpp>
#include <type_traits>
#include <vector>

namespace hs = halfstep;

namespace stranger {
/// Some library's bf16: a class of its own, of the same two bytes.
struct brain_float {
    std::uint16_t raw;
};
struct unknown_half {
    std::uint16_t raw;
};
}  // namespace stranger

template <>
struct halfstep::storage_of<stranger::brain_float> {
    using type = halfstep::bf16;
};

namespace {

/// One SGD step with learning rate 1 subtracts the gradient from the parameter where it lies.
template <class T, class Foreign>
void train_in_place(std::vector<Foreign> parameters, std::vector<Foreign> gradients, float (*value_of)(Foreign)) {
    using recipe = hs::recipe<T{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 1}>;
    auto const* address = parameters.data();
    std::vector<float> expected;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        expected.push_back(value_of(parameters[i]) - value_of(gradients[i]));
    hs::optimizer_step opt{recipe{}};
    opt.bind(parameters, gradients);
    REQUIRE(opt.step(1.0f).applied);
    REQUIRE(parameters.data() == address);
    for (std::size_t i = 0; i < parameters.size(); ++i) REQUIRE(value_of(parameters[i]) == expected[i]);
}

}  // namespace

TEST_CASE("a type of one's own is ours when storage_of says so, and only then") {
    STATIC_REQUIRE(std::is_same_v<hs::storage_of_t<stranger::brain_float>, hs::bf16>);
    STATIC_REQUIRE(std::is_void_v<hs::storage_of_t<stranger::unknown_half>>);
    STATIC_REQUIRE(std::is_same_v<hs::storage_of_t<hs::fp16>, hs::fp16> && std::is_void_v<hs::storage_of_t<double>>);
    STATIC_REQUIRE(hs::tensor_like<std::vector<stranger::brain_float>, hs::bf16>);
    STATIC_REQUIRE(!hs::tensor_like<std::vector<stranger::brain_float>, hs::fp16>);
    STATIC_REQUIRE(!hs::tensor_like<std::vector<stranger::unknown_half>, hs::bf16>);
}

TEST_CASE("a view of foreign elements has their address and shape") {
    std::vector<stranger::brain_float> data(6, {0x3F80});
    const auto view = hs::view_as<hs::bf16>(hs::tensor_view(data.data(), {2, 3}, "embedding"));
    STATIC_REQUIRE(std::is_same_v<decltype(view), hs::tensor_view<hs::bf16> const>);
    REQUIRE(static_cast<void const*>(view.data()) == static_cast<void const*>(data.data()));
    REQUIRE(view.extents() == hs::shape{2, 3});
    REQUIRE(view.name() == "embedding");
}

TEST_CASE("a stranger's bf16 parameters are trained where they lie") {
    const auto value_of = [](stranger::brain_float x) { return hs::widen(hs::bf16::from_bits(x.raw)); };
    std::vector<stranger::brain_float> parameters(37), gradients(37);
    for (std::size_t i = 0; i < 37; ++i) {
        parameters[i].raw = hs::bf16(static_cast<float>(i)).bits;
        gradients[i].raw = hs::bf16(0.5f).bits;
    }
    train_in_place<hs::bf16, stranger::brain_float>(parameters, gradients, value_of);
}

#if defined(__FLT16_MANT_DIG__)
TEST_CASE("_Float16 parameters are trained where they lie") {
    STATIC_REQUIRE(std::is_same_v<hs::storage_of_t<_Float16>, hs::fp16>);
    std::vector<_Float16> parameters(37), gradients(37);
    for (std::size_t i = 0; i < 37; ++i) {
        parameters[i] = static_cast<_Float16>(static_cast<float>(i));
        gradients[i] = static_cast<_Float16>(0.25f);
    }
    train_in_place<hs::fp16, _Float16>(parameters, gradients, [](_Float16 x) { return static_cast<float>(x); });
}
#endif
