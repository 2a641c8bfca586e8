// SPDX-License-Identifier: Apache-2.0
// Views of foreign types: of the same bits, and writable only where the elements are.
// case 1: halfstep: a view of writable elements needs a range whose elements are not const
// case 2: halfstep: a zero-copy view needs a foreign type of the same bits; specialise storage_of for one of your own
#include "in_case.hpp"

struct my_half {
    unsigned short bits;
};
struct my_brain {
    unsigned short bits;
};
template <>
struct halfstep::storage_of<my_half> {
    using type = hs::fp16;
};

hs::tensor_view<hs::fp16> use() {
    std::vector<my_half> halves(8);
    std::vector<my_brain> brains(8);
    std::vector<my_half> const fixed(8);
#if HALFSTEP_CASE == 1
    return hs::view_as<hs::fp16>(fixed);
#elif HALFSTEP_CASE == 2
    return {hs::bit_view<hs::fp16>(brains.data()), {8}};
#else
    (void)hs::view_as<hs::fp16 const>(fixed);
    return hs::view_as<hs::fp16>(halves);
#endif
}
