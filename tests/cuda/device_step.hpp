// SPDX-License-Identifier: Apache-2.0
/// A step of any recipe of the matrix on a device, behind one interface. The tensors are copies of the host's, at the
/// same offsets.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <matrix/workload.hpp>

namespace matrix {

class device_step {
  public:
    virtual ~device_step() = default;
    virtual void bind(byte_tensors const& parameters, byte_tensors const& gradients, int step) = 0;
    virtual void set_gradients(byte_tensors const& gradients, int step) = 0;
    virtual hs::step_record step(float lr) = 0;
    /// The device's parameters, gaps between tensors too.
    virtual std::vector<std::byte> parameters() = 0;
    /// Companions, moments and missed steps, in the order of `visit_state`.
    virtual std::vector<std::byte> state() = 0;
};

template <int Part>
std::unique_ptr<device_step> make_device_step_in_part(int index);
std::unique_ptr<device_step> make_device_step(int index);

}  // namespace matrix
