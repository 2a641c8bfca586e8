// SPDX-License-Identifier: Apache-2.0
/// How far two results are apart, in last bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace oracle {

/// The distance from one fp32 value to the next in the binade of `x`.
inline double ulp_of(float x) {
    int exponent = 0;
    std::frexp(x, &exponent);
    return std::ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

/// Which elements are compared. Compilers contract scalar code as they please: a peer's loop over what is left after
/// its whole vectors of 16 may round otherwise than the vectors.
enum class elements { all, in_whole_vectors };

/// Compares a running value with a peer's, in units of the last place of the largest magnitude that the element has had
/// so far: a sum that nearly cancels keeps the rounding errors of its terms.
class ulp_meter {
  public:
    explicit ulp_meter(std::size_t size, elements which = elements::all)
        : magnitude_(size), compared_(which == elements::all ? size : size / 16 * 16) {}

    /// A value that the element had.
    void see(std::vector<float> const& values) {
        for (std::size_t i = 0; i < magnitude_.size(); ++i)
            magnitude_[i] = std::fmax(magnitude_[i], std::fabs(values.at(i)));
    }
    /// Takes in one step's values. NaN agrees with NaN; sizes that differ are infinitely far apart.
    void compare(std::vector<float> const& ours, std::vector<float> const& peer) {
        if (ours.size() != magnitude_.size() || peer.size() != magnitude_.size()) {
            largest_ = std::numeric_limits<double>::infinity();
            return;
        }
        see(peer);
        for (std::size_t i = 0; i < compared_; ++i) {
            ++count_;
            if (std::isnan(ours[i]) && std::isnan(peer[i])) continue;
            if (ours[i] == peer[i]) continue;
            ++differing_;
            const double distance =
                std::fabs(static_cast<double>(ours[i]) - static_cast<double>(peer[i])) / ulp_of(magnitude_[i]);
            largest_ = std::isnan(distance) ? std::numeric_limits<double>::infinity() : std::fmax(largest_, distance);
        }
    }
    double largest() const { return largest_; }  ///< distance, of all elements and steps
    std::size_t differing() const { return differing_; }
    std::size_t count() const { return count_; }

  private:
    std::vector<float> magnitude_;
    std::size_t compared_;
    double largest_ = 0;
    std::size_t differing_ = 0, count_ = 0;
};

}  // namespace oracle
