// SPDX-License-Identifier: Apache-2.0
/// Which groups of a composition go in one launch.
#pragma once

#include <cstddef>
#include <type_traits>

#include <halfstep/core/pack.hpp>
#include <halfstep/core/report.hpp>

namespace halfstep::cuda_detail {

/// gradient_statistics as a type: a kernel's template argument of class type does not survive nvcc's host stub.
template <bool SumOfSquares, bool LargestMagnitude>
struct wanted_statistics {
    static constexpr gradient_statistics value{SumOfSquares, LargestMagnitude};
};

template <class Composition, std::size_t G>
using wanted_by_group = wanted_statistics<Composition::template inspection<G>::wanted.sum_of_squares,
                                          Composition::template inspection<G>::wanted.largest_magnitude>;

/// Groups `G` and `H` are inspected by one launch.
template <class Composition, std::size_t G, std::size_t H>
struct same_inspection {
    using one = typename Composition::template plan<G>;
    using other = typename Composition::template plan<H>;
    static constexpr bool value = Composition::template inspection<G>::looks &&
                                  Composition::template inspection<H>::looks &&
                                  std::is_same_v<typename one::detection, typename other::detection> &&
                                  std::is_same_v<typename one::gradient_type, typename other::gradient_type>;
};
/// They are updated by one launch.
template <class Composition, std::size_t G, std::size_t H>
struct same_update {
    using one = typename Composition::template plan<G>;
    using other = typename Composition::template plan<H>;
    static constexpr bool value =
        one::group::trains && other::group::trains && std::is_same_v<typename one::layout, typename other::layout>;
};

/// `G` is the first of the groups that go with it.
template <class Composition, template <class, std::size_t, std::size_t> class Same, std::size_t G>
inline constexpr bool leads = [] {
    bool first = Same<Composition, G, G>::value;
    for_each_index<G>([&](auto h) { first = first && !Same<Composition, G, h>::value; });
    return first;
}();
/// How many go with `G`, itself among them.
template <class Composition, template <class, std::size_t, std::size_t> class Same, std::size_t G>
inline constexpr int followers = [] {
    int count = 0;
    for_each_index<Composition::group_count>([&](auto h) { count += Same<Composition, G, h>::value ? 1 : 0; });
    return count;
}();
/// Leader of the inspection that is launched last, and decides; group_count where nobody looks at elements.
template <class Composition>
inline constexpr std::size_t last_inspection = [] {
    std::size_t last = Composition::group_count;
    for_each_index<Composition::group_count>([&](auto g) {
        if (leads<Composition, same_inspection, g>) last = g;
    });
    return last;
}();

}  // namespace halfstep::cuda_detail
