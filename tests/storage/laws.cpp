// SPDX-License-Identifier: Apache-2.0
// The laws of storage rules, for every stock policy and every dtype that it takes, on scalars and on lanes.
#include <catch.hpp>
#include <cmath>
#include <cstring>
#include <halfstep/host/lanes.hpp>
#include <halfstep/storage/fp32_master.hpp>
#include <halfstep/storage/in_place.hpp>
#include <halfstep/storage/kahan.hpp>
#include <halfstep/storage/stochastic_rounding.hpp>
#include <type_traits>
#include <vector>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;
namespace host = halfstep::host;
using patterns::random_words;

namespace {

template <class T>
std::vector<T> all_patterns() {
    std::vector<T> result;
    for (std::uint32_t bits = 0; bits < std::uint32_t{1} << (8 * sizeof(T)); ++bits)
        result.push_back(T::from_bits(static_cast<typename T::bits_type>(bits)));
    return result;
}

hs::noise<float> noise(std::uint32_t index) { return {hs::make_noise_key(3, 5, 0, 0), index}; }

/// Values over and beyond the range of `T`, each sign.
template <class T>
std::vector<float> values_to_store() {
    std::vector<float> result{0.0f, -0.0f, 1.0f, 0x1p-149f, 0x1p-126f};
    random_words random(21);
    for (int i = 0; i < 20000; ++i) {
        const float x = random.any_float();
        if (!std::isfinite(x)) continue;
        result.push_back(x);
        // Most of them where T has values.
        result.push_back(
            std::ldexp(1 + static_cast<float>(random() % 4096) / 4096, static_cast<int>(random() % 30) - 20));
    }
    return result;
}

/// Right after `bind`, `load` gives the parameter's value exactly.
template <class Storage, class T>
void check_initial_load() {
    const Storage storage{};
    for (T parameter : all_patterns<T>()) {
        const auto companion = storage.initial(parameter);
        const float loaded = storage.load(parameter, companion), expected = hs::widen(parameter);
        if (!(loaded == expected || (std::isnan(loaded) && std::isnan(expected)))) {
            CAPTURE(parameter.bits);
            REQUIRE(loaded == expected);
        }
    }
}

/// `store` depends on its arguments alone: not on what stood there, and not on calls before.
template <class Storage, class T>
void check_pure_store() {
    const Storage storage{};
    std::uint32_t index = 0;
    for (float value : values_to_store<T>()) {
        using companion = typename Storage::template companion<T>;
        T first = T(1.0f), second = T(-3.0f);
        companion first_rest{}, second_rest{};
        if constexpr (!std::is_empty_v<companion>) second_rest = companion(0.5f);
        storage.store(value, first, first_rest, noise(++index));
        storage.store(value, second, second_rest, noise(index));
        bool same = std::memcmp(&first, &second, sizeof(T)) == 0;
        if constexpr (!std::is_empty_v<companion>)
            same = same && std::memcmp(&first_rest, &second_rest, sizeof(companion)) == 0;
        if (!same) FAIL("storing " << value);
    }
}

template <class T>
T element(std::uint32_t bits) {
    if constexpr (std::is_same_v<T, float>)
        return hs::real_of(bits);
    else
        return T::from_bits(static_cast<typename T::bits_type>(bits));
}
template <class T>
struct array {
    T data[host::lane_count];
};
template <>
struct array<hs::no_companion> {
    hs::no_companion data[host::lane_count];
};
template <class T, class Packed>
array<T> spread(Packed const& x) {
    array<T> result;
    if constexpr (!std::is_empty_v<T>) host::store_lanes(static_cast<T*>(result.data), x);
    return result;
}

/// The lanes that the loops use give the bits of the scalars.
template <class Storage, class T>
void check_lanes() {
    using companion = typename Storage::template companion<T>;
    const Storage storage{};
    random_words random(22);
    auto values = values_to_store<T>();
    for (std::size_t at = 0; at + host::lane_count <= values.size(); at += host::lane_count) {
        array<T> parameter;
        array<companion> rest;
        for (auto& x : parameter.data) x = element<T>(random());
        if constexpr (!std::is_empty_v<companion>)
            for (auto& x : rest.data) x = element<companion>(random());
        auto packed_parameter = host::load_lanes(static_cast<T const*>(parameter.data));
        hs::packed_t<companion, host::lanes> packed_rest;
        if constexpr (!std::is_empty_v<companion>)
            packed_rest = host::load_lanes(static_cast<companion const*>(rest.data));

        const auto loaded = spread<float>(storage.load(packed_parameter, packed_rest));
        const auto index = host::lane_numbers() + host::lane_bits(static_cast<std::uint32_t>(at));
        storage.store(host::load_lanes(values.data() + at), packed_parameter, packed_rest,
                      hs::noise<host::lanes>{noise(0).key, index});
        const auto stored = spread<T>(packed_parameter);
        const auto stored_rest = spread<companion>(packed_rest);
        for (std::uint32_t i = 0; i < host::lane_count; ++i) {
            const float one = storage.load(parameter.data[i], rest.data[i]);
            bool same = std::isnan(one) ? std::isnan(loaded.data[i]) : hs::bits_of(one) == hs::bits_of(loaded.data[i]);
            storage.store(values[at + i], parameter.data[i], rest.data[i], noise(static_cast<std::uint32_t>(at) + i));
            same = same && std::memcmp(&parameter.data[i], &stored.data[i], sizeof(T)) == 0;
            if constexpr (!std::is_empty_v<companion>)
                same = same && std::memcmp(&rest.data[i], &stored_rest.data[i], sizeof(companion)) == 0;
            if (!same) FAIL("lane " << i << " of value " << values[at + i]);
        }
    }
}

template <class Storage, class T>
void check_laws() {
    check_initial_load<Storage, T>();
    check_pure_store<Storage, T>();
    check_lanes<Storage, T>();
}
template <class Storage>
void check_all_narrow_types() {
    check_laws<Storage, hs::fp16>();
    check_laws<Storage, hs::bf16>();
    check_laws<Storage, hs::fp8_e4m3>();
    check_laws<Storage, hs::fp8_e5m2>();
}

/// Parameter + compensation is the value to within half a last place of the compensation, or of the smallest subnormal.
template <class T>
void check_kahan_error() {
    using format = hs::dtype_traits<T>;
    const hs::kahan storage{};
    const double largest =
        static_cast<double>(hs::widen(T::from_bits(static_cast<typename T::bits_type>(format::largest_bits))));
    const double smallest = std::ldexp(1.0, 1 - format::bias - format::mantissa_bits);
    const double half_place = std::ldexp(1.0, -format::mantissa_bits - 1);
    for (float value : values_to_store<T>()) {
        if (std::fabs(static_cast<double>(value)) > largest) continue;
        T parameter{}, compensation{};
        storage.store(value, parameter, compensation, noise(0));
        if (parameter != hs::narrow<T>(value)) FAIL("the parameter of " << value);
        const double rest = std::fabs(static_cast<double>(value) - static_cast<double>(hs::widen(parameter)));
        const double error =
            std::fabs(static_cast<double>(storage.load(parameter, compensation)) - static_cast<double>(value));
        // load rounds its sum to fp32 once.
        if (!(error <= rest * half_place + smallest / 2 + std::fabs(static_cast<double>(value)) * 0x1p-24))
            FAIL("value " << value << ", error " << error);
    }
}

}  // namespace

TEST_CASE("in_place keeps the laws of storage rules") {
    check_all_narrow_types<hs::in_place>();
    check_pure_store<hs::in_place, float>();
    check_lanes<hs::in_place, float>();
}
TEST_CASE("fp32_master keeps the laws of storage rules") { check_all_narrow_types<hs::fp32_master>(); }
TEST_CASE("stochastic_rounding keeps the laws of storage rules") { check_all_narrow_types<hs::stochastic_rounding>(); }
TEST_CASE("kahan keeps the laws of storage rules") { check_all_narrow_types<hs::kahan>(); }

TEST_CASE("in_place stores a float as it is, and a narrow parameter as the nearest value") {
    const hs::in_place storage{};
    hs::no_companion none;
    for (float value : values_to_store<hs::fp16>()) {
        float same = 1;
        storage.store(value, same, none, noise(0));
        REQUIRE(hs::bits_of(same) == hs::bits_of(value));
        hs::fp16 nearest{};
        storage.store(value, nearest, none, noise(0));
        REQUIRE(nearest.bits == hs::narrow<hs::fp16>(value).bits);
    }
}

TEST_CASE("an fp32 master holds the value exactly, the parameter is its nearest, and is never read") {
    STATIC_REQUIRE(hs::fp32_master::overwrites_parameter);
    const hs::fp32_master storage{};
    for (float value : values_to_store<hs::bf16>()) {
        hs::bf16 parameter{};
        float master = 1;
        storage.store(value, parameter, master, noise(0));
        REQUIRE(parameter.bits == hs::narrow<hs::bf16>(value).bits);
        REQUIRE(hs::bits_of(storage.load(hs::bf16::from_bits(0x7FC0), master)) == hs::bits_of(value));
    }
}

TEST_CASE("kahan holds a value to twice the precision of its dtype") {
    check_kahan_error<hs::fp16>();
    check_kahan_error<hs::bf16>();
    check_kahan_error<hs::fp8_e4m3>();
    check_kahan_error<hs::fp8_e5m2>();
}

TEST_CASE("which dtypes a storage rule takes, and what it keeps beside a parameter") {
    STATIC_REQUIRE(hs::storage_rule_for<hs::in_place, float> && hs::storage_rule_for<hs::in_place, hs::fp8_e4m3>);
    STATIC_REQUIRE(!hs::storage_rule_for<hs::fp32_master, float> &&
                   !hs::storage_rule_for<hs::stochastic_rounding, float> && !hs::storage_rule_for<hs::kahan, float>);
    STATIC_REQUIRE(std::is_same_v<hs::fp32_master::companion<hs::fp16>, float>);
    STATIC_REQUIRE(std::is_same_v<hs::kahan::companion<hs::fp16>, hs::fp16>);
    STATIC_REQUIRE(std::is_empty_v<hs::stochastic_rounding::companion<hs::bf16>>);
    STATIC_REQUIRE(std::is_empty_v<hs::in_place::companion<float>>);
}
