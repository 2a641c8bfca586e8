// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <matrix/reference.hpp>

namespace matrix {

// Each axis behind an interface, so that this file compiles 28 values and not their combinations.

class scalar_rule {
  public:
    virtual ~scalar_rule() = default;
    virtual int moments() const = 0;
    virtual void prepare(hs::rule_input const& in) = 0;
    virtual void update(std::vector<float>& parameter, std::vector<float> const& gradient,
                        std::vector<float>* moment) = 0;
};

/// Parameters and companions of all tensors.
class scalar_storage {
  public:
    virtual ~scalar_storage() = default;
    virtual std::vector<float> load(int tensor) const = 0;
    virtual void store(int tensor, std::vector<float> const& value, std::int64_t first_index, std::int64_t step) = 0;
    virtual std::span<std::byte const> companion(int tensor) const = 0;
    virtual std::vector<float> widened(std::byte const* data, std::int64_t size) const = 0;
};

class scalar_scaling {
  public:
    virtual ~scalar_scaling() = default;
    virtual float scale() const = 0;
    virtual void update(bool overflowed) = 0;
};

namespace {

template <class Rule>
class rule_of final : public scalar_rule {
  public:
    explicit rule_of(Rule rule) : rule_(rule) {}
    int moments() const override { return Rule::moments; }
    void prepare(hs::rule_input const& in) override { coefficients_ = rule_.prepare(in); }
    void update(std::vector<float>& parameter, std::vector<float> const& gradient,
                std::vector<float>* moment) override {
        for (std::size_t i = 0; i < parameter.size(); ++i) {
            hs::values<float, Rule::moments> m;
            if constexpr (Rule::moments > 0)
                for (int k = 0; k < Rule::moments; ++k) m[k] = moment[k][i];
            rule_.update(coefficients_, parameter[i], gradient[i], m);
            if constexpr (Rule::moments > 0)  // the default state rule: fp32, subnormals flushed
                for (int k = 0; k < Rule::moments; ++k) moment[k][i] = std::fabs(m[k]) < 0x1p-126f ? 0.0f : m[k];
        }
    }

  private:
    Rule rule_;
    typename Rule::coefficients coefficients_{};
};

template <class Storage, class T>
class storage_of final : public scalar_storage {
    using companion_type = typename Storage::template companion<T>;

  public:
    storage_of(Storage storage, byte_tensors const& parameters) : storage_(storage), parameters_(parameters) {
        for (int t = 0; t < tensor_count; ++t)
            for (std::int64_t i = 0; i < tensor_sizes[t]; ++i) companion_[t].push_back(storage_.initial(*at(t, i)));
    }
    std::vector<float> load(int t) const override {
        std::vector<float> value(companion_[t].size());
        for (std::size_t i = 0; i < value.size(); ++i)
            value[i] = storage_.load(*at(t, static_cast<std::int64_t>(i)), companion_[t][i]);
        return value;
    }
    void store(int t, std::vector<float> const& value, std::int64_t first_index, std::int64_t step) override {
        std::uint64_t seed = 0;
        if constexpr (requires { storage_.seed; }) seed = storage_.seed;
        const hs::noise_key key = hs::make_noise_key(seed, static_cast<std::uint64_t>(step), 0, 0);
        for (std::size_t i = 0; i < value.size(); ++i)
            storage_.store(
                value[i], *at(t, static_cast<std::int64_t>(i)), companion_[t][i],
                hs::noise<float>{key, static_cast<std::uint32_t>(first_index) + static_cast<std::uint32_t>(i)});
    }
    std::span<std::byte const> companion(int t) const override {
        if constexpr (std::is_empty_v<companion_type>)
            return {};
        else
            return std::as_bytes(std::span(companion_[t]));
    }
    std::vector<float> widened(std::byte const* data, std::int64_t size) const override {
        std::vector<float> value;
        for (std::int64_t i = 0; i < size; ++i) value.push_back(hs::widen(reinterpret_cast<T const*>(data)[i]));
        return value;
    }

  private:
    T* at(int t, std::int64_t i) const { return reinterpret_cast<T*>(parameters_.data(t)) + i; }

    Storage storage_;
    byte_tensors const& parameters_;
    std::vector<companion_type> companion_[tensor_count];
};

template <class Scaling>
class scaling_of final : public scalar_scaling {
  public:
    explicit scaling_of(Scaling scaling) : scaling_(scaling), state_(hs::initial_state(scaling)) {}
    float scale() const override { return scaling_.scale(state_); }
    void update(bool overflowed) override {
        hs::gradient_report report;
        report.overflowed = overflowed;
        scaling_.update(state_, report);
    }

  private:
    Scaling scaling_;
    typename Scaling::state state_;
};

/// `f(the value numbered `number` of `pack`)`.
template <class Pack, class F>
void with_value(Pack const& pack, int number, F&& f) {
    hs::for_each_index<Pack::size>([&](auto n) {
        if (static_cast<int>(n) == number) f(hs::get<n>(pack));
    });
}

template <class X>
X sum_of_neighbours(X const* x, int count) {
    return count == 1 ? x[0] : sum_of_neighbours(x, count / 2) + sum_of_neighbours(x + count / 2, count / 2);
}

float squares_of_segment(float const* x, std::int64_t count) {
    float chain[64]{};
    for (std::int64_t i = 0; i < count; ++i) chain[i % 64] = std::fma(x[i], x[i], chain[i % 64]);
    return sum_of_neighbours(chain, 64);
}

double sum_of_partials(std::vector<float> const& partial) {
    double chain[256]{};
    for (std::size_t i = 0; i < partial.size(); ++i) chain[i % 256] += static_cast<double>(partial[i]);
    double sum = 0;
    for (int block = 0; block < 8; ++block) sum += sum_of_neighbours(chain + 32 * block, 32);
    return sum;
}

}  // namespace

reference::reference(entry const& e, byte_tensors const& parameters) : entry_(e), parameters_(parameters) {
    with_value(rules, e[rule], [&](auto r) { rule_ = std::make_unique<rule_of<decltype(r)>>(r); });
    with_value(scalings, e[scaling], [&](auto s) { scaling_ = std::make_unique<scaling_of<decltype(s)>>(s); });
    with_value(storages, e[storage], [&]<class Storage>(Storage s) {
        with_value(dtypes, e[dtype], [&]<class T>(hs::dtype<T>) {
            if constexpr (hs::storage_rule_for<Storage, T>)
                storage_ = std::make_unique<storage_of<Storage, T>>(s, parameters_);
        });
    });
    for (int t = 0; t < tensor_count; ++t)
        for (auto& moment : moment_[t]) moment.resize(static_cast<std::size_t>(tensor_sizes[t]));
}
reference::~reference() = default;

float reference::loss_scale() const { return scaling_->scale(); }
int reference::moments() const { return rule_->moments(); }
std::span<std::byte const> reference::companion(int tensor) const { return storage_->companion(tensor); }
std::span<std::byte const> reference::moment(int tensor, int number) const {
    return std::as_bytes(std::span(moment_[tensor][number]));
}

bool reference::any_nonfinite(byte_tensors const& gradients, int step) const {
    for (int t = 0; t < tensor_count; ++t)
        if (has_gradient(t, step))
            for (float x : storage_->widened(gradients.data(t), tensor_sizes[t]))
                if (!std::isfinite(x)) return true;
    return false;
}

double reference::sum_of_squares(byte_tensors const& gradients, int step) const {
    std::vector<float> partial;
    for (int t = 0; t < tensor_count; ++t) {
        const auto x = storage_->widened(gradients.data(t), tensor_sizes[t]);
        for (std::int64_t first = 0; first < tensor_sizes[t]; first += 4096)
            partial.push_back(
                has_gradient(t, step)
                    ? squares_of_segment(x.data() + first, std::min<std::int64_t>(4096, tensor_sizes[t] - first))
                    : 0.0f);
    }
    return sum_of_partials(partial);
}

hs::step_record reference::step(float lr, byte_tensors const& gradients, int step) {
    const bool by_norm = entry_[clipping] == 1, checks_norm = entry_[detection] == 1,
               unchecked = entry_[detection] == 3;
    hs::step_record record;
    record.step = ++steps_;
    record.lr = lr;
    record.loss_scale = scaling_->scale();
    const double unscale = 1.0 / static_cast<double>(record.loss_scale);
    bool overflowed = !checks_norm && !unchecked && any_nonfinite(gradients, step);
    if (by_norm || checks_norm) {
        record.gradient_norm = std::sqrt(sum_of_squares(gradients, step)) * unscale;
        overflowed = overflowed || !std::isfinite(record.gradient_norm);
    }
    record.applied = !overflowed;
    if (record.applied) {
        ++applied_;
        double factor = 1;
        if (by_norm) {
            with_value(clippings, 1, [&](auto const& c) {
                if constexpr (requires { c.max_norm; })
                    factor = std::min(1.0, static_cast<double>(c.max_norm) / (record.gradient_norm + 1e-6));
            });
            ++(factor < 1 ? clipped_ : unclipped_);
        }
        const float gradient_factor = static_cast<float>(unscale * factor);
        std::int64_t first_index = 0;
        for (int t = 0; t < tensor_count; first_index += tensor_sizes[t++]) {
            if (!has_gradient(t, step)) {
                ++missed_[t];
                continue;
            }
            auto gradient = storage_->widened(gradients.data(t), tensor_sizes[t]);
            for (float& g : gradient) {
                g = g * gradient_factor;
                if (entry_[clipping] == 2)
                    with_value(clippings, 2, [&](auto const& c) {
                        if constexpr (requires { c.max_value; }) g = std::min(std::max(g, -c.max_value), c.max_value);
                    });
            }
            auto value = storage_->load(t);
            rule_->prepare({lr, 1.0f, applied_ - missed_[t]});
            rule_->update(value, gradient, moment_[t]);
            storage_->store(t, value, first_index, applied_);
        }
    }
    scaling_->update(overflowed);
    record.next_loss_scale = scaling_->scale();
    record.applied_steps = applied_;
    record.skipped_steps = steps_ - applied_;
    return record;
}

}  // namespace matrix
