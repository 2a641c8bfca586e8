// SPDX-License-Identifier: Apache-2.0
/// What every recipe of the matrix is run on: one list of tensors, 20 steps of gradients, and where they overflow.
///
/// Bytes and not typed arrays, so that the code which makes and compares them is compiled once and not once a recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <matrix/recipes.hpp>
#include <memory>
#include <span>

namespace matrix {

/// Around the sizes at which the loops change: nothing, a lane pack, a tile, a segment, several segments.
inline constexpr std::int64_t tensor_sizes[]{0, 1, 63, 64, 255, 256, 257, 4095, 4096, 4097, 20000, 100};
inline constexpr int tensor_count = 12;
inline constexpr int never_with_gradient = 11;
inline constexpr int sometimes_without_gradient = 7;
inline constexpr int step_count = 20;

constexpr bool has_gradient(int tensor, int step) {
    return tensor != never_with_gradient && !(tensor == sometimes_without_gradient && step >= 5 && step < 9);
}
/// Changes from step to step, so that a rule which used a stale one is seen.
constexpr float lr_at(int step) { return 0.01f * static_cast<float>(1 + step % 3); }

/// Where step `step` holds an inf or NaN; tensor -1 on the steps without. Two in a row, and places at the ends of lane
/// packs, tiles, segments and tensors.
struct fault {
    int tensor;
    std::int64_t element;
    float value;
};
fault fault_at(int step);

/// The tensors of one kind in one block. Tensors of even number start at a cache line, those of odd number one
/// element later: streaming stores take the first and must leave the second alone.
class byte_tensors {
  public:
    explicit byte_tensors(int dtype_number);
    byte_tensors(byte_tensors const& other);
    byte_tensors& operator=(byte_tensors const&) = delete;

    int dtype_number() const { return dtype_; }
    std::byte* data(int tensor) const { return memory_.get() + offset_[tensor]; }
    std::size_t offset(int tensor) const { return offset_[tensor]; }
    /// All of it, the gaps between tensors too.
    std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

  private:
    struct release {
        void operator()(std::byte* p) const { std::free(p); }
    };
    int dtype_;
    std::size_t size_ = 0;
    std::size_t offset_[tensor_count]{};
    std::unique_ptr<std::byte, release> memory_;
};

void fill_parameters(byte_tensors& parameters);
/// The gradients of one step as they are stored, with the step's fault where `faults` is set.
void fill_gradients(byte_tensors& gradients, int step, bool faults);

}  // namespace matrix
