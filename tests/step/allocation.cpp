// SPDX-License-Identifier: Apache-2.0
// Counts every allocation of this program: those by operator new, which is replaced here, and those by the C functions,
// which the linker sends here (--wrap in CMakeLists.txt).
#include <catch.hpp>
#include <cstdlib>
#include <new>
#include <step/helpers.hpp>

namespace {
/// Volatile, since a compiler knows malloc and that it counts nothing.
volatile long allocations = 0;
void count_one() { allocations = allocations + 1; }
}  // namespace

extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_realloc(void*, std::size_t);
void* __real_aligned_alloc(std::size_t, std::size_t);
void* __wrap_malloc(std::size_t bytes) {
    count_one();
    return __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
    count_one();
    return __real_calloc(count, bytes);
}
void* __wrap_realloc(void* p, std::size_t bytes) {
    count_one();
    return __real_realloc(p, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
    count_one();
    return __real_aligned_alloc(alignment, bytes);
}
}

void* operator new(std::size_t bytes) {
    count_one();
    if (void* p = __real_malloc(bytes > 0 ? bytes : 1)) return p;
    throw std::bad_alloc();
}
// The address sanitizer's own would not come here.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
    count_one();
    return __real_malloc(bytes > 0 ? bytes : 1);
}
// Not inlined, or g++ sees that memory of `new` comes to `free` and warns.
__attribute__((noinline)) void operator delete(void* p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

template <class F>
long allocations_of(F&& f) {
    const long before = allocations;
    f();
    return allocations - before;
}

/// Clean steps, a skipped one and a micro-batch allocate nothing, from the first step after `bind` on.
template <auto... Entries, class... Arguments>
void allocates_nothing(Arguments... arguments) {
    std::vector<std::vector<hs::fp16>> p{values<hs::fp16>(5, 1), values<hs::fp16>(9000, 2)},
        g{values<hs::fp16>(5, 3), values<hs::fp16>(9000, 4)};
    hs::optimizer_step step{hs::recipe<Entries...>{}, arguments...};
    REQUIRE(allocations_of([&] { step.bind(p, g); }) > 0);  // or the count would prove nothing
    const hs::fp16 good = g[1][8999];
    int applied = 0;
    const long count = allocations_of([&] {
        for (int s = 0; s < 4; ++s) {
            g[1][8999] = s == 1 ? hs::fp16(inf) : good;
            if (s == 2) step.inspect_micro_batch();
            applied += step.step({.lr = 0.01f, .loss = step.loss_scale()}).applied ? 1 : 0;
            step.visit_state([](hs::state_entry const&) {});
        }
    });
    REQUIRE(applied == 3);
    REQUIRE(count == 0);
}

}  // namespace

TEST_CASE("the C functions are counted", "[step]") {
    void* volatile p = nullptr;
    REQUIRE(allocations_of([&] { p = std::aligned_alloc(64, 64); }) == 1);
    std::free(p);
    REQUIRE(allocations_of([&] { p = std::malloc(10); }) == 1);
    std::free(p);
    REQUIRE(allocations_of([&] { delete new int(3); }) <= 1);
}

TEST_CASE("nothing is allocated after bind", "[step]") {
    allocates_nothing<hs::fp16{}, hs::adamw{}>(hs::host_backend{.threads = 1});
    allocates_nothing<hs::fp16{}, hs::lion{}, hs::kahan{}, hs::clip_by_norm{}, hs::norm_check{}>(
        hs::host_backend{.threads = 1, .stream_above_bytes = 0});
    allocates_nothing<hs::fp16{}, hs::sgd<hs::nesterov>{}, hs::stochastic_rounding{}, hs::clip_by_value{},
                      hs::hysteresis_scaling<>{}>(hs::host_backend{.threads = 1});
}

TEST_CASE("nor with several threads", "[step]") {
    allocates_nothing<hs::fp16{}, hs::adamw{}, hs::clip_by_norm{}>(
        hs::host_backend{.threads = 2, .elements_per_thread = 1});
}

TEST_CASE("new addresses of gradients cost no memory of state", "[step]") {
    auto p = values<hs::fp16>(9000, 1), g = values<hs::fp16>(9000, 2), h = g;
    hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::adamw{}>{}};
    const long whole = allocations_of([&] { step.bind(p, g); });
    REQUIRE(allocations_of([&] { step.bind_gradients(h); }) < whole / 2);
}
