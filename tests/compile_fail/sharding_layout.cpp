// SPDX-License-Identifier: Apache-2.0
// A sharding layout written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this sharding layout lacks 'static constexpr gradient_collective gradients' and 'static constexpr parameter_collective parameters'
// case 2: halfstep: this sharding layout lacks 'static constexpr gradient_collective gradients' and 'static constexpr parameter_collective parameters'
// case 3: halfstep: this sharding layout lacks 'static constexpr gradient_collective gradients' and 'static constexpr parameter_collective parameters'
// case 4: halfstep: this sharding layout lacks 'flat_range owned(std::int64_t elements, int rank, int world_size) const'
// case 5: halfstep: this sharding layout lacks 'flat_range owned(std::int64_t elements, int rank, int world_size) const'
// case 6: halfstep: this sharding layout lacks 'flat_range owned(std::int64_t elements, int rank, int world_size) const'
// case 7: halfstep: this sharding layout lacks 'static constexpr bool cuts_tensors'
#include "in_case.hpp"

/// The first rank updates everything.
struct first_rank {
    using slot = hs::sharding_slot;

#if HALFSTEP_CASE == 3
    static constexpr bool gradients = true;
#elif HALFSTEP_CASE != 1
    static constexpr hs::gradient_collective gradients = hs::gradient_collective::all_reduce;
#endif
#if HALFSTEP_CASE != 2
    static constexpr hs::parameter_collective parameters = hs::parameter_collective::broadcast_owned;
#endif

#if HALFSTEP_CASE == 5
    constexpr std::int64_t owned(std::int64_t elements, int, int) const { return elements; }
#elif HALFSTEP_CASE == 6
    constexpr hs::flat_range owned(std::int64_t elements) const { return {0, elements}; }
#elif HALFSTEP_CASE != 4
    constexpr hs::flat_range owned(std::int64_t elements, int rank, int) const { return {0, rank == 0 ? elements : 0}; }
#endif

#if HALFSTEP_CASE != 7
    static constexpr bool cuts_tensors = false;
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, first_rank{}>{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
