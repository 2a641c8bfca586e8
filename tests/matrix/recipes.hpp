// SPDX-License-Identifier: Apache-2.0
/// The recipes of the matrix: every pair of values of two axes, as far as the rules between policies allow it, and some
/// more.
///
/// Knows no backend. `entry_at(i)` says what recipe i is made of, `recipe_at<i>` is its type.
#pragma once

#include <cstddef>
#include <halfstep/halfstep.hpp>
#include <string>

namespace matrix {

namespace hs = halfstep;

enum axis { rule, storage, detection, clipping, scaling, dtype };
inline constexpr int axis_sizes[6]{7, 4, 4, 3, 5, 5};

// The values of the axes, in the order of their names. Numbers are such that 20 steps show growth, backoff and
// clipping, and that no product is exact by luck: a scale of 1000 is no power of two.
inline constexpr hs::pack<hs::adamw, hs::adam, hs::sgd<>, hs::sgd<hs::classical_momentum>, hs::sgd<hs::nesterov>,
                          hs::lion, hs::adagrad>
    rules{{{hs::adamw{.weight_decay = 0.05f}},
           {hs::adam{.beta2 = 0.95f, .eps = 1e-6f, .weight_decay = 0.02f}},
           {hs::sgd<>{.weight_decay = 0.03f}},
           {hs::sgd<hs::classical_momentum>{.momentum = 0.8f, .dampening = 0.25f, .weight_decay = 0.01f}},
           {hs::sgd<hs::nesterov>{.weight_decay = 0.01f}},
           {hs::lion{.weight_decay = 0.1f}},
           {hs::adagrad{.lr_decay = 0.125f, .weight_decay = 0.02f}}}};
inline constexpr hs::pack<hs::in_place, hs::fp32_master, hs::stochastic_rounding, hs::kahan> storages{
    {{hs::in_place{}}, {hs::fp32_master{}}, {hs::stochastic_rounding{.seed = 11}}, {hs::kahan{}}}};
inline constexpr hs::pack<hs::nonfinite_check, hs::norm_check, hs::exponent_check, hs::no_check> detections{};
inline constexpr hs::pack<hs::no_clipping, hs::clip_by_norm, hs::clip_by_value> clippings{
    {{hs::no_clipping{}}, {hs::clip_by_norm{.max_norm = 0.1f}}, {hs::clip_by_value{.max_value = 0.002f}}}};
inline constexpr hs::pack<hs::dynamic_scaling, hs::static_scaling, hs::hysteresis_scaling<hs::refill::on_growth>,
                          hs::hysteresis_scaling<hs::refill::on_clean_step>, hs::no_scaling>
    scalings{{{hs::dynamic_scaling{.initial_scale = 1500, .growth_factor = 1.5f, .growth_interval = 3}},
              {hs::static_scaling{.loss_scale = 1000}},
              {hs::hysteresis_scaling<hs::refill::on_growth>{.initial_scale = 1024, .growth_interval = 3}},
              {hs::hysteresis_scaling<hs::refill::on_clean_step>{.initial_scale = 1024, .growth_interval = 3}},
              {hs::no_scaling{}}}};
inline constexpr hs::pack<hs::dtype<float>, hs::dtype<hs::fp16>, hs::dtype<hs::bf16>, hs::dtype<hs::fp8_e4m3>,
                          hs::dtype<hs::fp8_e5m2>>
    dtypes{};

inline constexpr char const* value_names[6][7]{
    {"adamw", "adam", "sgd", "sgd_classical", "sgd_nesterov", "lion", "adagrad"},
    {"in_place", "fp32_master", "stochastic_rounding", "kahan"},
    {"nonfinite_check", "norm_check", "exponent_check", "no_check"},
    {"no_clipping", "clip_by_norm", "clip_by_value"},
    {"dynamic", "static", "hysteresis_on_growth", "hysteresis_on_clean_step", "no_scaling"},
    {"float", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2"}};

/// A value an axis.
struct entry {
    int value[6]{};
    constexpr int operator[](axis a) const { return value[a]; }
};

inline std::string name_of(entry const& e) {
    std::string text;
    for (int a = 0; a < 6; ++a) text += (a == 0 ? "" : " ") + std::string(value_names[a][e.value[a]]);
    return text;
}

/// What the rules between policies (compatibility.hpp) leave. A pair is refused when every recipe that holds it is.
constexpr bool allowed(entry const& e) {
    const bool is_float = e[dtype] == 0, is_e4m3 = e[dtype] == 3, unchecked = e[detection] == 3;
    const bool narrow_range = e[dtype] == 1 || e[dtype] >= 3, scales = e[scaling] != 4;
    if (is_float && e[storage] != 0) return false;
    if (unchecked && (narrow_range || scales || e[clipping] == 1)) return false;
    return !(is_e4m3 && e[detection] == 2);
}

inline constexpr int recipe_count = 168;
/// The recipes that are compiled together: recipe i belongs to part i % part_count.
inline constexpr int part_count = 8;
/// How many of the parts this program has: a sanitizer's build has fewer.
#if !defined(HALFSTEP_MATRIX_PARTS)
#define HALFSTEP_MATRIX_PARTS 8
#endif
inline constexpr bool has_every_part = HALFSTEP_MATRIX_PARTS == part_count;
constexpr bool has_recipe(int i) { return i % part_count < HALFSTEP_MATRIX_PARTS; }

namespace detail {

/// Walks combinations in an order that mixes the axes. First takes each one that holds a pair not seen before, then the
/// first of the others until there are enough. With this stride part 0 holds every value. Plain arrays, because clang
/// counts every call in a constant expression.
struct selection {
    entry taken[recipe_count];
};
consteval selection select() {
    constexpr int combinations = 7 * 4 * 4 * 3 * 5 * 5, stride = 1933, looked_at = 1500;
    selection result{};
    bool is_taken[looked_at]{};
    bool seen[28][28]{};  // 28 values in all
    int count = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (int k = 0; k < looked_at && count < recipe_count; ++k) {
            if (is_taken[k]) continue;
            entry e;
            int number[6]{};
            int rest = (k * stride) % combinations, first = 0;
            for (int a = 0; a < 6; ++a) {
                e.value[a] = rest % axis_sizes[a];
                number[a] = first + e.value[a];
                rest /= axis_sizes[a];
                first += axis_sizes[a];
            }
            if (!allowed(e)) continue;
            bool wanted = pass == 1;
            for (int a = 0; a < 6; ++a)
                for (int b = a + 1; b < 6; ++b) {
                    wanted = wanted || !seen[number[a]][number[b]];
                    seen[number[a]][number[b]] = true;
                }
            if (!wanted) continue;
            is_taken[k] = true;
            result.taken[count++] = e;
        }
    return result;
}
inline constexpr selection selected = select();

template <entry E>
consteval auto recipe_of() {
    constexpr auto t = hs::get<std::size_t(E[dtype])>(dtypes);
    constexpr auto r = hs::get<std::size_t(E[rule])>(rules);
    constexpr auto st = hs::get<std::size_t(E[storage])>(storages);
    constexpr auto d = hs::get<std::size_t(E[detection])>(detections);
    constexpr auto c = hs::get<std::size_t(E[clipping])>(clippings);
    constexpr auto sc = hs::get<std::size_t(E[scaling])>(scalings);
    if constexpr (E[scaling] == 4)
        return hs::recipe<sc, c, d, st, r, t, hs::accept_underflow{}>{};
    else
        return hs::recipe<sc, c, d, st, r, t>{};
}

}  // namespace detail

constexpr entry const& entry_at(int i) { return detail::selected.taken[i]; }

template <int I>
using recipe_at = decltype(detail::recipe_of<entry_at(I)>());

}  // namespace matrix
