// SPDX-License-Identifier: Apache-2.0
// Shapes and views of tensors that others own.
#include <array>
#include <catch.hpp>
#include <deque>
#include <halfstep/core/tensor.hpp>
#include <limits>
#include <list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::string refusal(std::initializer_list<std::int64_t> extents) {
    try {
        (void)hs::shape(extents);
    } catch (std::invalid_argument const& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a shape knows its extents and their product") {
    constexpr hs::shape matrix{3, 5};
    STATIC_REQUIRE(matrix.rank() == 2 && matrix.extent(0) == 3 && matrix.extent(1) == 5 && matrix.size() == 15);
    STATIC_REQUIRE(hs::shape{}.rank() == 0 && hs::shape{}.size() == 1);  // a scalar
    STATIC_REQUIRE(hs::shape{2, 2, 2, 2, 2, 2, 2, 3}.size() == 384);
    STATIC_REQUIRE(hs::shape{65536, 65536}.size() == std::int64_t{1} << 32);
    STATIC_REQUIRE(hs::shape{most}.size() == most);
    STATIC_REQUIRE(hs::shape{3, 5} == matrix && hs::shape{5, 3} != matrix && hs::shape{15} != matrix);
}

TEST_CASE("a zero extent anywhere makes a shape empty, whatever the others are") {
    STATIC_REQUIRE(hs::shape{0}.size() == 0 && hs::shape{3, 0}.size() == 0 && hs::shape{0, 3}.size() == 0);
    STATIC_REQUIRE(hs::shape{most, most, 0}.size() == 0 && hs::shape{most, most, 0}.extent(1) == most);
}

TEST_CASE("a shape refuses a negative extent, a ninth one, and a product beyond 64 bits") {
    REQUIRE(refusal({2, -1}) == "halfstep: a tensor's extent must not be negative");
    REQUIRE(refusal({0, -1}) == "halfstep: a tensor's extent must not be negative");
    REQUIRE(refusal({1, 1, 1, 1, 1, 1, 1, 1, 1}) == "halfstep: a shape has at most eight extents");
    REQUIRE(refusal({most, 2}) == "halfstep: a tensor has more elements than 64 bits can count");
    REQUIRE(refusal({std::int64_t{1} << 32, std::int64_t{1} << 31}) ==
            "halfstep: a tensor has more elements than 64 bits can count");
    REQUIRE(refusal({(std::int64_t{1} << 32) - 1, std::int64_t{1} << 31}).empty());
}

TEST_CASE("a view has the address, the shape and the name that it was given") {
    std::vector<hs::fp16> data(6);
    const hs::tensor_view view(data.data(), {2, 3}, "weights");
    STATIC_REQUIRE(std::is_same_v<decltype(view), hs::tensor_view<hs::fp16> const>);
    REQUIRE(view.data() == data.data());
    REQUIRE(view.extents() == hs::shape{2, 3});
    REQUIRE(view.name() == "weights");
    REQUIRE(view.elements().data() == data.data());
    REQUIRE(view.elements().size() == 6);
    view.elements()[5] = hs::fp16(2.0f);
    REQUIRE(data[5] == hs::fp16(2.0f));
}

TEST_CASE("contiguous ranges are tensors of one dimension") {
    std::vector<float> vector(7);
    const std::array<hs::bf16, 3> array{};
    float plain[4] = {};
    STATIC_REQUIRE(std::is_same_v<decltype(hs::tensor_view(vector)), hs::tensor_view<float>>);
    STATIC_REQUIRE(std::is_same_v<decltype(hs::tensor_view(array)), hs::tensor_view<hs::bf16 const>>);
    REQUIRE(hs::tensor_view(vector).extents() == hs::shape{7});
    REQUIRE(hs::tensor_view(array).size() == 3);
    REQUIRE(hs::tensor_view(plain).data() == plain);
    REQUIRE(hs::tensor_view(std::span(vector).subspan(2, 3)).data() == vector.data() + 2);
    REQUIRE(hs::tensor_view<float const>(std::span<float const>(vector)).size() == 7);
}

TEST_CASE("a default view is empty; a view without data has no elements whatever its shape") {
    const hs::tensor_view<float> none;
    REQUIRE(none.size() == 0);
    REQUIRE(none.data() == nullptr);
    const hs::tensor_view<float> no_gradient(nullptr, {4});
    REQUIRE(no_gradient.size() == 4);
    REQUIRE(no_gradient.elements().empty());
}

TEST_CASE("bind takes one tensor, or a range of tensors, of the group's dtype and of no other") {
    using halfstep::fp16;
    STATIC_REQUIRE(hs::tensor_like<std::vector<fp16>, fp16> && hs::tensor_like<std::vector<fp16>&, fp16>);
    STATIC_REQUIRE(hs::tensor_like<hs::tensor_view<fp16>, fp16> && hs::tensor_like<hs::tensor_view<fp16 const>, fp16>);
    STATIC_REQUIRE(hs::tensor_like<std::span<fp16 const>, fp16> && hs::tensor_like<fp16(&)[3], fp16>);
    STATIC_REQUIRE(!hs::tensor_like<std::vector<hs::bf16>, fp16> && !hs::tensor_like<std::vector<std::uint16_t>, fp16>);
    STATIC_REQUIRE(!hs::tensor_like<std::deque<fp16>, fp16> && !hs::tensor_like<fp16, fp16>);

    STATIC_REQUIRE(hs::tensor_range<std::vector<std::vector<fp16>>, fp16>);
    STATIC_REQUIRE(hs::tensor_range<std::list<std::vector<fp16>>, fp16>);  // only a tensor itself is contiguous
    STATIC_REQUIRE(hs::tensor_range<std::vector<hs::tensor_view<fp16>>, fp16>);
    STATIC_REQUIRE(!hs::tensor_range<std::vector<fp16>, fp16> &&
                   !hs::tensor_range<std::vector<std::vector<float>>, fp16>);
}

TEST_CASE("view_as keeps address, shape and name, and adds const where it is asked to") {
    std::vector<float> data(6);
    const hs::tensor_view named(data.data(), {3, 2}, "bias");
    const auto view = hs::view_as<float const>(named);
    STATIC_REQUIRE(std::is_same_v<decltype(view), hs::tensor_view<float const> const>);
    REQUIRE(view.data() == data.data());
    REQUIRE(view.extents() == hs::shape{3, 2});
    REQUIRE(view.name() == "bias");
    REQUIRE(hs::view_as<float>(data).data() == data.data());
    REQUIRE(hs::view_as<float const>(std::as_const(data)).size() == 6);
}

TEST_CASE("a copy of a view keeps shape and name, from an lvalue that is not const too") {
    float data[6] = {};
    hs::tensor_view view(static_cast<float*>(data), {3, 2}, "bias");
    hs::tensor_view copy = view;
    const hs::tensor_view<float> deduced(view);
    hs::tensor_view<float> assigned;
    assigned = view;
    for (auto const& each : {copy, deduced, assigned, hs::view_as<float>(view)}) {
        REQUIRE(each.extents() == hs::shape{3, 2});
        REQUIRE(each.name() == "bias");
    }
}

TEST_CASE("a view of what may be written becomes one of what is read, with shape and name, and never the other way") {
    float data[6] = {};
    const hs::tensor_view<float> view(static_cast<float*>(data), {3, 2}, "bias");
    const hs::tensor_view<float const> reading = view;
    REQUIRE(reading.data() == view.data());
    REQUIRE(reading.extents() == hs::shape{3, 2});
    REQUIRE(reading.name() == "bias");
    STATIC_REQUIRE(!std::is_convertible_v<hs::tensor_view<float const>, hs::tensor_view<float>>);
    std::vector<float> vector(4);
    REQUIRE(hs::tensor_view<float const>(vector).data() == vector.data());
    STATIC_REQUIRE(!std::is_constructible_v<hs::tensor_view<float>, std::vector<float> const&>);
}
