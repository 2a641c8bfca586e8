// SPDX-License-Identifier: Apache-2.0
/// The slow, obvious step that every recipe of the matrix is compared with: one element after another, in plain floats.
///
/// Takes from the library the policies' own scalar functions and nothing of the composition or the loops. How sums are
/// ordered, which step number a rule sees and what makes a step overflow is written down here once more.
#pragma once

#include <cstddef>
#include <matrix/workload.hpp>
#include <memory>
#include <span>
#include <vector>

namespace matrix {

class scalar_rule;
class scalar_storage;
class scalar_scaling;

class reference {
  public:
    reference(entry const& e, byte_tensors const& parameters);
    ~reference();
    /// Of the record, what the library promises to be the same: everything but the loss.
    hs::step_record step(float lr, byte_tensors const& gradients, int step);

    byte_tensors const& parameters() const { return parameters_; }
    float loss_scale() const;
    int moments() const;
    std::span<std::byte const> companion(int tensor) const;  ///< empty where the storage keeps none
    std::span<std::byte const> moment(int tensor, int number) const;
    std::int64_t missed_steps(int tensor) const { return missed_[tensor]; }
    /// Steps whose gradients norm clipping shortened, and applied steps where it had nothing to do.
    int clipped_steps() const { return clipped_; }
    int unclipped_steps() const { return unclipped_; }

  private:
    double sum_of_squares(byte_tensors const& gradients, int step) const;
    bool any_nonfinite(byte_tensors const& gradients, int step) const;

    entry entry_;
    byte_tensors parameters_;
    std::unique_ptr<scalar_rule> rule_;
    std::unique_ptr<scalar_storage> storage_;
    std::unique_ptr<scalar_scaling> scaling_;
    std::vector<float> moment_[tensor_count][2];
    std::int64_t missed_[tensor_count]{};
    std::int64_t steps_ = 0, applied_ = 0;
    int clipped_ = 0, unclipped_ = 0;
};

}  // namespace matrix
