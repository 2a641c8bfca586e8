// SPDX-License-Identifier: Apache-2.0
// What composition is built from: packs of values, loops over indices, names of types, facts of dtypes.
#include <catch.hpp>
#include <cstring>
#include <halfstep/core/dtype.hpp>
#include <halfstep/core/pack.hpp>
#include <halfstep/core/type_name.hpp>
#include <type_traits>
#include <vector>

namespace hs = halfstep;

struct backbone;
namespace outer {
struct head;
template <class T>
struct holder;
}  // namespace outer

namespace {
struct empty {};
struct local_tag;

using three = hs::pack<int, empty, double>;
constexpr three values{{{7}, {}, {2.5}}};
}  // namespace

TEST_CASE("a pack is an aggregate of one value a type, trivially copyable") {
    STATIC_REQUIRE(std::is_trivially_copyable_v<three> && std::is_aggregate_v<three> && three::size == 3);
    STATIC_REQUIRE(hs::get<0>(values) == 7 && hs::get<2>(values) == 2.5);
    STATIC_REQUIRE(std::is_same_v<decltype(hs::get<1>(values)), empty const&>);
    STATIC_REQUIRE(std::is_empty_v<hs::pack<>>);
}

TEST_CASE("values in a pack are reached by place, also where two have one type") {
    hs::pack<int, int> pair{{{1}, {2}}};
    hs::get<1>(pair) = 5;
    REQUIRE(hs::get<0>(pair) == 1);
    REQUIRE(hs::get<1>(pair) == 5);
    hs::pack<int, int> copy;
    std::memcpy(&copy, &pair, sizeof pair);
    REQUIRE(hs::get<1>(copy) == 5);
}

TEST_CASE("for_each_index counts up from zero in constants") {
    std::vector<std::size_t> seen;
    hs::for_each_index<4>([&](auto i) {
        constexpr std::size_t constant = i;
        seen.push_back(constant);
    });
    REQUIRE(seen == std::vector<std::size_t>{0, 1, 2, 3});
    hs::for_each_index<0>([&](auto) { FAIL("no index"); });
    STATIC_REQUIRE(hs::type_list<int, int, float>::size == 3);
    STATIC_REQUIRE(std::is_same_v<hs::type_at<0, int, void, float>, int> &&
                   std::is_same_v<hs::type_at<2, int, void, float>, float>);
}

TEST_CASE("a type's name is what a person wrote, without namespaces, complete or not") {
    STATIC_REQUIRE(hs::type_name<backbone>() == "backbone");
    STATIC_REQUIRE(hs::type_name<outer::head>() == "head");
    STATIC_REQUIRE(hs::type_name<local_tag>() == "local_tag");
    STATIC_REQUIRE(hs::type_name<outer::holder<int>>() == "holder<int>");
    STATIC_REQUIRE(hs::type_name<int>() == "int");
    struct inside;
    REQUIRE(hs::type_name<inside>() == "inside");
}

TEST_CASE("dtypes know whether they are narrow, and whether their range is") {
    STATIC_REQUIRE(hs::storage_type<float> && !hs::storage_type<double> && !hs::storage_type<std::uint16_t>);
    STATIC_REQUIRE(!hs::narrow_type<float> && hs::narrow_type<hs::bf16> && hs::narrow_type<hs::fp8_e4m3>);
    STATIC_REQUIRE(hs::narrow_range_type<hs::fp16> && hs::narrow_range_type<hs::fp8_e4m3> &&
                   hs::narrow_range_type<hs::fp8_e5m2>);
    STATIC_REQUIRE(!hs::narrow_range_type<hs::bf16> && !hs::narrow_range_type<float>);
    STATIC_REQUIRE(std::is_trivially_copyable_v<hs::fp16> && sizeof(hs::fp8_e5m2) == 1 && alignof(hs::bf16) == 2);
}
