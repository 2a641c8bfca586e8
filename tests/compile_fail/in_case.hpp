// SPDX-License-Identifier: Apache-2.0
/// For the sources of this folder: HALFSTEP_CASE is the number of the one mistake that they make, 0 for none.
#pragma once

#include <halfstep/halfstep.hpp>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

#ifndef HALFSTEP_CASE
#define HALFSTEP_CASE 0
#endif

namespace hs = halfstep;

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class T>
struct mistake {
    int number;
    T value;
};
/// `right`, but in the case of one of the mistakes its value.
template <class T>
constexpr T unless(T right, std::initializer_list<mistake<std::type_identity_t<T>>> mistakes) {
    for (auto const& m : mistakes)
        if (m.number == HALFSTEP_CASE) return m.value;
    return right;
}
