// SPDX-License-Identifier: Apache-2.0
// What bench.py times, behind a C interface: composed steps, the hand-written step, the memory-only loop over their
// streams.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "recipes.hpp"
#if defined(__AVX2__) && defined(__F16C__) && defined(__FMA__)  // the yardsticks are written in intrinsics
#define HALFSTEP_BENCH_BY_HAND
#include "hand.hpp"
#endif

namespace {

struct tensor_list {
    int threads;
    std::int64_t count;
    std::int64_t const* sizes;
    void* const* parameters;
    void const* const* gradients;
};

class subject {
  public:
    subject() = default;
    subject(subject const&) = delete;
    subject& operator=(subject const&) = delete;
    virtual ~subject() = default;
    virtual bool run(float lr) = 0;
    /// The memory-only loop over the streams of this subject. False where it has none.
    virtual bool run_roof() { return false; }
    virtual void set_moments(float, float) {}
};

#if defined(HALFSTEP_BENCH_BY_HAND)
using hand::u16;

template <class Step>
std::vector<hand::piece> streams_of(Step& step, tensor_list const& list) {
    std::vector<hand::piece> tensors;
    for (std::int64_t i = 0; i < list.count; ++i)
        tensors.push_back({static_cast<u16 const*>(list.gradients[i]), static_cast<u16*>(list.parameters[i]), nullptr,
                           nullptr, nullptr, list.sizes[i]});
    step.visit_state([&](bench::hs::state_entry const& entry) {
        auto* const data = reinterpret_cast<float*>(entry.bytes.data());
        hand::piece& tensor = tensors[entry.tensor];
        if (entry.component == "companion") tensor.master = data;
        if (entry.component == "moment") (entry.number == 0 ? tensor.m : tensor.v) = data;
    });
    return tensors;
}
#endif

template <class Recipe, class T>
class composed : public subject {
  public:
    explicit composed(tensor_list const& list) : step_(Recipe{}, bench::hs::host_backend{.threads = list.threads}) {
        std::vector<bench::hs::tensor_view<T>> parameters;
        std::vector<bench::hs::tensor_view<T const>> gradients;
        for (std::int64_t i = 0; i < list.count; ++i) {
            parameters.push_back({static_cast<T*>(list.parameters[i]), {list.sizes[i]}});
            gradients.push_back({static_cast<T const*>(list.gradients[i]), {list.sizes[i]}});
        }
        step_.bind(parameters, gradients);
#if defined(HALFSTEP_BENCH_BY_HAND)
        if constexpr (has_roof) roof_.emplace(list.threads, streams_of(step_, list));
#endif
    }
    bool run(float lr) override { return step_.step(lr).applied; }
#if defined(HALFSTEP_BENCH_BY_HAND)
    bool run_roof() override {
        if constexpr (has_roof) roof_->run();
        return has_roof;
    }
#endif
    void set_moments(float first, float second) override {
        step_.visit_state([&](bench::hs::state_entry const& entry) {
            if (entry.component != "moment") return;
            auto* moment = reinterpret_cast<float*>(entry.bytes.data());
            for (std::size_t i = 0; i < entry.bytes.size() / sizeof(float); ++i)
                moment[i] = entry.number == 0 ? first : second;
        });
    }

  private:
    bench::hs::optimizer_step<typename Recipe::composition> step_;
#if defined(HALFSTEP_BENCH_BY_HAND)
    static constexpr bool has_roof = std::is_same_v<Recipe, bench::fp16_step>;
    std::optional<hand::roof> roof_;
#endif
};

#if defined(HALFSTEP_BENCH_BY_HAND)
class by_hand : public subject {
  public:
    explicit by_hand(tensor_list const& list)
        : state_(list.count, list.sizes, reinterpret_cast<u16* const*>(list.parameters),
                 reinterpret_cast<u16 const* const*>(list.gradients)),
          step_(list.threads, state_.tensors()),
          roof_(list.threads, state_.tensors()) {}
    bool run(float lr) override { return step_.run(lr, 65536, 1); }
    bool run_roof() override { return roof_.run(), true; }

  private:
    hand::state state_;
    hand::adamw step_;
    hand::roof roof_;
};
#endif

std::unique_ptr<subject> make(std::string_view name, tensor_list const& list) {
#if defined(HALFSTEP_BENCH_BY_HAND)
    if (name == "hand") return std::make_unique<by_hand>(list);
#endif
    std::unique_ptr<subject> made;
    bench::for_each_compared([&]<class Recipe, class T>(bench::timed<Recipe, T> const& timed) {
        if (timed.name == name) made = std::make_unique<composed<Recipe, T>>(list);
    });
    return made;
}

}  // namespace

extern "C" {

/// Null where there is no subject of that name. Gradients carry a loss scale of 65536.
void* bench_create(char const* name, int threads, std::int64_t count, std::int64_t const* sizes,
                   void* const* parameters, void const* const* gradients) {
    try {
        return make(name, {threads, count, sizes, parameters, gradients}).release();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return nullptr;
    }
}
/// Steps taken and not skipped, of `repeats`.
int bench_run(void* what, float lr, int repeats) {
    int applied = 0;
    for (int i = 0; i < repeats; ++i) applied += static_cast<subject*>(what)->run(lr) ? 1 : 0;
    return applied;
}
/// Runs of the memory-only loop, of `repeats`.
int bench_run_roof(void* what, int repeats) {
    int done = 0;
    for (int i = 0; i < repeats; ++i) done += static_cast<subject*>(what)->run_roof() ? 1 : 0;
    return done;
}
void bench_set_moments(void* what, float first, float second) {
    static_cast<subject*>(what)->set_moments(first, second);
}
void bench_destroy(void* what) { delete static_cast<subject*>(what); }
}
