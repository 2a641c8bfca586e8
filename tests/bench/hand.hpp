// SPDX-License-Identifier: Apache-2.0
/// The fp16 AdamW step as one would write it by hand for this one purpose, and the memory-only loop: the yardsticks.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <halfstep/host/buffer.hpp>
#include <vector>

#include "vector.hpp"

namespace hand {

/// Five streams of one stretch; master and moments are padded to whole packs.
struct piece {
    u16 const* gradient;
    u16* parameter;
    float* master;
    float* m;
    float* v;
    std::int64_t size;
};

inline constexpr std::int64_t line = 32;  ///< elements of an iteration: a cache line of 16-bit parameters
inline constexpr std::int64_t cached_bytes = std::int64_t{4}
                                             << 20;  ///< streaming stores pay beyond this, on long stretches
inline constexpr std::int64_t long_stretch = 4096;

/// Cuts tensors into equal parts, one a thread, at whole lines.
inline std::vector<std::vector<piece>> deal(std::vector<piece> const& tensors, int threads) {
    std::int64_t total = 0;
    for (auto const& t : tensors) total += t.size;
    const std::int64_t share = (total / threads + line - 1) / line * line;
    std::vector<std::vector<piece>> parts(static_cast<std::size_t>(threads));
    std::size_t thread = 0;
    std::int64_t room = share;
    for (piece t : tensors) {
        while (t.size > 0) {
            const bool last = thread + 1 == parts.size();
            const std::int64_t n = last ? t.size : std::min(t.size, (room + line - 1) / line * line);
            parts[thread].push_back({t.gradient, t.parameter, t.master, t.m, t.v, n});
            t = {t.gradient + n, t.parameter + n, t.master + n, t.m + n, t.v + n, t.size - n};
            room -= n;
            if (room <= 0 && !last) ++thread, room = share;
        }
    }
    return parts;
}

/// Tensors dealt out to threads.
class streams {
  public:
    streams(int threads, std::vector<piece> const& tensors) {
        for (auto const& t : tensors) elements_ += t.size;
        const std::int64_t useful = std::max<std::int64_t>(1, elements_ / 16384);
        parts_ = deal(tensors, static_cast<int>(std::min<std::int64_t>(threads, useful)));
    }

  protected:
    /// `f(pieces of this thread, number of the thread)`.
    template <class F>
    void each_thread(F&& f) {
        if (parts_.size() == 1) return f(parts_[0], std::size_t{0});
#pragma omp parallel num_threads(static_cast<int>(parts_.size()))
        {
            const auto thread = static_cast<std::size_t>(omp_get_thread_num());
            f(parts_[thread], thread);
        }
    }
    bool beyond_caches() const { return elements_ * 16 > cached_bytes; }
    bool streams_past(piece const& p) const {
        return beyond_caches() && p.size >= long_stretch && reinterpret_cast<std::uintptr_t>(p.parameter) % 64 == 0;
    }

    std::vector<std::vector<piece>> parts_;

  private:
    std::int64_t elements_ = 0;
};

/// Reads and writes what the update of these tensors reads and writes, 28 bytes a parameter, and computes nothing:
/// master and moments stay as they are, parameters become the gradients.
class roof : public streams {
  public:
    using streams::streams;
    void run() {
        each_thread([&](std::vector<piece> const& pieces, std::size_t) {
            for (auto const& p : pieces) streams_past(p) ? copy<true>(p, flip_) : copy<false>(p, flip_);
            if (beyond_caches()) _mm_sfence();
        });
    }

  private:
    template <bool Past>
    static void copy(piece const s, int flip) {
        std::int64_t i = 0;
        for (; i + line <= s.size; i += line) {
            if constexpr (Past) {
                prefetch(s.gradient + i, 2048);
                for (float* array : {s.master, s.m, s.v}) prefetch(array + i, 2048);
            }
#pragma GCC unroll 4
            for (std::int64_t at = i; at < i + line; at += width) {
                for (float* array : {s.master, s.m, s.v}) store(array + at, mix_bits(load(array + at), flip));
                const half_vec bits = load_bits(s.gradient + at);
                Past ? stream_bits(s.parameter + at, bits) : store_bits(s.parameter + at, bits);
            }
        }
        for (; i < s.size; i += width) {
            for (float* array : {s.master, s.m, s.v}) store(array + i, mix_bits(load(array + i), flip));
            const std::int64_t rest = std::min<std::int64_t>(width, s.size - i);
            store_bits(s.parameter + i, load_bits(s.gradient + i, rest), rest);
        }
    }
    int volatile flip_source_ = 0;
    int flip_ = flip_source_;  // zero, which the compiler must not know
};

/// Master and moments in memory of its own, from the library's allocator, each tensor padded to whole lines.
class state {
  public:
    state(std::int64_t count, std::int64_t const* sizes, u16* const* parameters, u16 const* const* gradients) {
        std::int64_t padded = 0;
        for (std::int64_t i = 0; i < count; ++i) padded += pad(sizes[i]);
        for (auto& array : arrays_) array = halfstep::host::buffer(static_cast<std::size_t>(padded) * sizeof(float));
        std::int64_t at = 0;
        for (std::int64_t i = 0; i < count; at += pad(sizes[i]), ++i)
            tensors_.push_back({gradients[i], parameters[i], array(0) + at, array(1) + at, array(2) + at, sizes[i]});
        for (auto const& t : tensors_)
            for (std::int64_t i = 0; i < t.size; ++i) t.master[i] = _cvtsh_ss(t.parameter[i]);
    }
    std::vector<piece> const& tensors() const { return tensors_; }

  private:
    static std::int64_t pad(std::int64_t n) { return (n + line - 1) / line * line; }
    float* array(int i) { return reinterpret_cast<float*>(arrays_[i].data()); }
    halfstep::host::buffer arrays_[3];
    std::vector<piece> tensors_;
};

/// Check and norm, then unscale, clip, AdamW and the fp16 copy in one pass.
class adamw : public streams {
  public:
    adamw(int threads, std::vector<piece> const& tensors) : streams(threads, tensors), sums_(parts_.size()) {}

    /// False where a gradient was not finite: nothing has changed then.
    bool run(float lr, float loss_scale, float max_norm) {
        each_thread([&](std::vector<piece> const& pieces, std::size_t thread) {
            double sum = 0;
            for (auto const& p : pieces) sum += squares(p.gradient, p.size);
            sums_[thread] = sum;
        });
        double total = 0;
        for (double sum : sums_) total += sum;
        if (!std::isfinite(total)) return false;
        const double norm = std::sqrt(total) / static_cast<double>(loss_scale);
        const double clip = std::min(1.0, static_cast<double>(max_norm) / (norm + 1e-6));
        ++step_;
        const scalars s{static_cast<float>(clip / static_cast<double>(loss_scale)), 1 - lr * 0.01f,
                        static_cast<float>(-static_cast<double>(lr) / (1 - std::pow(0.9, step_))),
                        static_cast<float>(1 / std::sqrt(1 - std::pow(0.999, step_)))};
        each_thread([&](std::vector<piece> const& pieces, std::size_t) {
            for (auto const& p : pieces) streams_past(p) ? update<true>(p, s) : update<false>(p, s);
            if (beyond_caches()) _mm_sfence();
        });
        return true;
    }

  private:
    struct scalars {
        float factor, keep, minus_step, correction;
    };

    static double squares(u16 const* gradient, std::int64_t n) {
        constexpr std::int64_t block = 16384;  // summed in fp32, blocks in double
        double total = 0;
        for (std::int64_t start = 0; start < n; start += block) {
            const std::int64_t end = std::min(n, start + block);
            vec chain[4] = {all(0), all(0), all(0), all(0)};
            std::int64_t i = start;
            for (; i + 4 * width <= end; i += 4 * width) {
                for (std::int64_t at = 0; at < 4 * width; at += line) prefetch(gradient + i + at, 8192);
#pragma GCC unroll 4
                for (int j = 0; j < 4; ++j) {
                    const vec x = widen(load_bits(gradient + i + j * width));
                    chain[j] = fma(x, x, chain[j]);
                }
            }
            for (; i < end; i += width) {
                const vec x = widen(load_bits(gradient + i, std::min<std::int64_t>(width, end - i)));
                chain[0] = fma(x, x, chain[0]);
            }
            for (vec c : chain) total += static_cast<double>(sum(c));
        }
        return total;
    }

    /// The new parameter. Arrays of our own are padded to whole lines.
    static half_vec advance(piece const& p, std::int64_t i, half_vec gradient, scalars const& s) {
        const vec g = mul(widen(gradient), all(s.factor));
        const vec m = fma(all(0.9f), load(p.m + i), mul(all(0.1f), g));
        const vec v = fma(all(0.999f), load(p.v + i), mul(mul(all(0.001f), g), g));
        store(p.m + i, m);
        store(p.v + i, v);
        const vec quotient = div(m, fma(root(v), all(s.correction), all(1e-8f)));
        const vec master = fma(all(s.minus_step), quotient, mul(load(p.master + i), all(s.keep)));
        store(p.master + i, master);
        return narrow(master);
    }
    template <bool Past>
    static void update(piece const p, scalars const s) {
        std::int64_t i = 0;
        for (; i + line <= p.size; i += line) {
            if constexpr (Past) {
                prefetch(p.gradient + i, 2048);
                for (float* array : {p.master, p.m, p.v}) prefetch(array + i, 2048);
            }
#pragma GCC unroll 4
            for (std::int64_t at = i; at < i + line; at += width) {
                const half_vec parameter = advance(p, at, load_bits(p.gradient + at), s);
                Past ? stream_bits(p.parameter + at, parameter) : store_bits(p.parameter + at, parameter);
            }
        }
        for (; i + width <= p.size; i += width)
            store_bits(p.parameter + i, advance(p, i, load_bits(p.gradient + i), s));
        if (i < p.size) {
            const std::int64_t rest = p.size - i;
            store_bits(p.parameter + i, advance(p, i, load_bits(p.gradient + i, rest), s), rest);
        }
    }

    std::vector<double> sums_;
    int step_ = 0;
};

}  // namespace hand
