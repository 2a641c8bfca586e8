// SPDX-License-Identifier: Apache-2.0
/// The tables that composition hands to a backend: where each tensor of a group lies, and how it is cut into work.
#pragma once

#include <cstdint>

#include <halfstep/core/config.hpp>
#include <halfstep/core/report.hpp>

namespace halfstep {

/// The unit of work and of blockwise state.
inline constexpr std::int64_t tile_elements = 256;
/// The unit of scheduling and of partial sums: 16 tiles. Tensors start a new one, so that sums do not depend on their
/// neighbours.
inline constexpr std::int64_t segment_elements = 16 * tile_elements;
/// A segment's squares are added in so many chains, element i to chain i mod 64, whatever the width of a lane pack or a
/// warp.
inline constexpr int sum_chains = 64;
/// Companions and moments of each tensor start at a multiple of so many elements.
inline constexpr std::int64_t state_alignment = 64;

constexpr std::int64_t segments_of(std::int64_t elements) {
    return elements / segment_elements + (elements % segment_elements != 0 ? 1 : 0);
}

/// What decides the code and the memory layout of an update, whatever the group is called. Groups with one element
/// layout share an instantiation, and on a device a launch.
template <class T, class Gradient, class Rule, class Storage, class State>
struct element_layout {
    using type = T;
    using gradient_type = Gradient;
    using rule = Rule;
    using storage = Storage;
    using state = State;
    using companion = typename Storage::template companion<T>;
    using moment = typename State::element;
    static constexpr int moments = Rule::moments;
};

/// One tensor, or the part of it that this rank owns. Its element types are its table's: what walks over rows needs
/// none.
struct tensor_row {
    void* parameter = nullptr;
    void const* gradient = nullptr;  ///< null: takes no part in the step
    std::int64_t size = 0;
    std::int64_t state_offset = 0;   ///< of its companions and moments, in elements
    std::int64_t first_index = 0;    ///< index of its first element in the group, padding not counted
    std::int64_t first_segment = 0;  ///< in the group
};

/// What inspecting one segment yields.
struct segment_partial {
    float sum_of_squares = 0;
    float largest_magnitude = 0;
    std::uint32_t flagged = 0;
};

/// The rows of a group, and what goes with them whatever the types of elements.
struct group_rows {
    tensor_row const* rows = nullptr;
    std::int64_t row_count = 0;
    std::int64_t* missed_steps = nullptr;  ///< a row: applied steps that went by without a gradient of it
    segment_partial* partials = nullptr;
    std::int64_t segments = 0;
    std::int64_t elements = 0;  ///< owned, padding not counted
    std::uint32_t ordinal = 0;  ///< of the group in its recipe; enters the noise
};

/// One group as the loops see it. Plain pointers: a kernel takes it by value.
template <class Layout>
struct group_table : group_rows {
    using layout = Layout;
    using type = typename Layout::type;
    using gradient_type = typename Layout::gradient_type;

    typename Layout::companion* companions = nullptr;
    typename Layout::moment* moments = nullptr;  ///< the first moment of all tensors, then the second, …
    std::int64_t moment_stride = 0;              ///< elements from one moment to the next

    HS_FUNCTION constexpr type* parameter(tensor_row const& row) const { return static_cast<type*>(row.parameter); }
    HS_FUNCTION constexpr gradient_type const* gradient(tensor_row const& row) const {
        return static_cast<gradient_type const*>(row.gradient);
    }
};

/// Adds partial results in one order for every backend: partial i to chain i mod 256, the chains of 32 pairwise
/// (neighbours first), the eight results one after another. This is what a CUB block reduction of 256 threads does.
class partial_fold {
  public:
    HS_FUNCTION constexpr void add(segment_partial const* partials, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            chain_[next_] += static_cast<double>(partials[i].sum_of_squares);
            next_ = (next_ + 1) % chains;
            if (count_ < chains) ++count_;
            flagged_ |= partials[i].flagged;
            if (partials[i].largest_magnitude > largest_) largest_ = partials[i].largest_magnitude;
        }
    }
    HS_FUNCTION constexpr gradient_report result() {
        gradient_report report;
        report.flagged = flagged_ != 0;
        report.largest_magnitude = largest_;
        for (int first = 0; first < count_; first += 32) {
            for (int distance = 1; distance < 32; distance *= 2)
                for (int i = first; i < first + 32; i += 2 * distance) chain_[i] += chain_[i + distance];
            report.sum_of_squares += chain_[first];
        }
        return report;
    }

  private:
    static constexpr int chains = 256;
    double chain_[chains] = {};
    float largest_ = 0;
    std::uint32_t flagged_ = 0;
    int next_ = 0;
    int count_ = 0;
};

}  // namespace halfstep
