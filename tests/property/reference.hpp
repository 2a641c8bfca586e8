// SPDX-License-Identifier: Apache-2.0
/// The slow and obvious step: one parameter at a time, in double, from the formulas of the papers. Shares no arithmetic
/// with the library.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include <halfstep/halfstep.hpp>

namespace property {

namespace hs = halfstep;

/// One parameter.
struct cell {
    double p = 0, m = 0, v = 0;
};

inline void advance(hs::adamw const& r, cell& c, double g, double lr, double decay, int t) {
    c.p *= 1 - lr * r.weight_decay * decay;
    c.m = r.beta1 * c.m + (1 - double{r.beta1}) * g;
    c.v = r.beta2 * c.v + (1 - double{r.beta2}) * g * g;
    const double m = c.m / (1 - std::pow(double{r.beta1}, t)), v = c.v / (1 - std::pow(double{r.beta2}, t));
    c.p -= lr * m / (std::sqrt(v) + r.eps);
}
inline void advance(hs::adam const& r, cell& c, double g, double lr, double decay, int t) {
    g += r.weight_decay * decay * c.p;
    c.m = r.beta1 * c.m + (1 - double{r.beta1}) * g;
    c.v = r.beta2 * c.v + (1 - double{r.beta2}) * g * g;
    const double m = c.m / (1 - std::pow(double{r.beta1}, t)), v = c.v / (1 - std::pow(double{r.beta2}, t));
    c.p -= lr * m / (std::sqrt(v) + r.eps);
}
inline void advance(hs::adagrad const& r, cell& c, double g, double lr, double decay, int t) {
    g += r.weight_decay * decay * c.p;
    c.v += g * g;
    c.p -= lr / (1 + (t - 1) * double{r.lr_decay}) * g / (std::sqrt(c.v) + r.eps);
}
inline void advance(hs::sgd<> const& r, cell& c, double g, double lr, double decay, int) {
    c.p -= lr * (g + r.weight_decay * decay * c.p);
}
template <hs::momentum_kind Kind>
void advance(hs::sgd<Kind> const& r, cell& c, double g, double lr, double decay, int t) {
    g += r.weight_decay * decay * c.p;
    c.m = t == 1 ? g : r.momentum * c.m + (1 - double{r.dampening}) * g;
    c.p -= lr * (Kind == hs::nesterov ? g + r.momentum * c.m : c.m);
}

/// What a step does to the tensors of one group, and whether it was applied.
class reference {
  public:
    explicit reference(std::vector<std::vector<double>> const& parameters) {
        for (auto const& tensor : parameters) {
            cells_.emplace_back();
            updates_.push_back(0);
            for (double p : tensor) cells_.back().push_back({p, 0, 0});
        }
    }
    std::vector<std::vector<cell>> const& cells() const { return cells_; }

    /// `gradients` as stored, an empty tensor for none; `max_norm` or `max_value` 0 for no such clipping.
    template <class Rule>
    bool step(Rule const& rule, std::vector<std::vector<double>> const& gradients, double scale, double max_norm,
              double max_value, double lr, double decay) {
        double squares = 0;
        for (auto const& tensor : gradients)
            for (double g : tensor) {
                if (!std::isfinite(g)) return false;
                squares += g / scale * (g / scale);
            }
        const double norm = std::sqrt(squares);
        const double clip = max_norm > 0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1;
        for (std::size_t t = 0; t < cells_.size(); ++t) {
            if (gradients[t].empty()) continue;
            ++updates_[t];
            for (std::size_t i = 0; i < cells_[t].size(); ++i) {
                double g = gradients[t][i] / scale * clip;
                if (max_value > 0) g = std::max(-max_value, std::min(max_value, g));
                advance(rule, cells_[t][i], g, lr, decay, updates_[t]);
            }
        }
        return true;
    }

  private:
    std::vector<std::vector<cell>> cells_;
    std::vector<int> updates_;
};

}  // namespace property
