// SPDX-License-Identifier: Apache-2.0
/// Matrices that live in the storage type and are widened to fp32 for each product.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <halfstep/halfstep.hpp>
#include <span>
#include <vector>

namespace picture_fit {

namespace hs = halfstep;

/// Gradient values seen, and how many of them a rounding to the storage type turned into zero.
struct underflow_count {
    std::int64_t nonzero = 0;
    std::int64_t vanished = 0;

    void add(std::span<float const> exact, std::span<float const> stored) {
        std::int32_t some = 0, kept = 0;  // of 32 bits, so that the loop vectorises; ranges here are short
        for (std::size_t i = 0; i < exact.size(); ++i) {
            some += exact[i] != 0.0f;
            kept += stored[i] != 0.0f;
        }
        nonzero += some;
        vanished += some - kept;
    }
    underflow_count& operator+=(underflow_count const& other) {
        nonzero += other.nonzero;
        vanished += other.vanished;
        return *this;
    }
    double share() const { return nonzero ? static_cast<double>(vanished) / static_cast<double>(nonzero) : 0; }
};

inline std::span<float> elements(Eigen::MatrixXf& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }
inline std::span<float const> elements(Eigen::MatrixXf const& m) {
    return {m.data(), static_cast<std::size_t>(m.size())};
}

/// A matrix of `T`, column by column. A product reads it through `load` and is written back through `store`: what the
/// next product sees is what 16 bits could hold.
template <hs::storage_type T>
class stored_matrix {
  public:
    void store(Eigen::MatrixXf const& values) {
        rows_ = values.rows();
        columns_ = values.cols();
        bits_.resize(static_cast<std::size_t>(values.size()));
        hs::narrow(elements(values), std::span<T>(bits_));
    }
    void load(Eigen::MatrixXf& values) const {
        values.resize(rows_, columns_);
        hs::widen(std::span<T const>(bits_), elements(values));
    }

  private:
    Eigen::Index rows_ = 0, columns_ = 0;
    std::vector<T> bits_;
};

}  // namespace picture_fit
