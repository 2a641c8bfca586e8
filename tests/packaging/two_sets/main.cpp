// SPDX-License-Identifier: Apache-2.0
// One program of files for two instruction sets: each runs the loops that it was compiled with, and both give the same
// bits.
#include <cstdio>
#include <initializer_list>

#include "set.hpp"

int main() {
    const set_result wide = wide_set(), portable = portable_set();
    for (set_result const& r : {wide, portable})
        std::printf("%016llx in packs of %zu bytes, compiled for %zu\n", static_cast<unsigned long long>(r.bits),
                    r.pack, r.own_pack);
    return wide.bits == portable.bits && wide.pack == wide.own_pack && portable.pack == portable.own_pack ? 0 : 1;
}
