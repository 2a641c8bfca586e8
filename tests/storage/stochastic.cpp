// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding: probabilities exact over all random words, patterns that differ wherever they must.
#include <algorithm>
#include <catch.hpp>
#include <cmath>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <vector>

#include "vocabulary/patterns.hpp"

namespace hs = halfstep;
using patterns::random_words;

namespace {

/// How many of the 65536 words that rounding could draw give each result; a word supplies its leading bits.
template <class T>
struct exhaustive_count {
    int below = 0, above = 0, elsewhere = 0;
    exhaustive_count(float x, T lower, T upper) {
        for (std::uint32_t word = 0; word < 65536; ++word) {
            T rounded;
            hs::stochastic_round_into(rounded, x, word << 16);
            ++(rounded == lower ? below : rounded == upper ? above : elsewhere);
        }
    }
};

/// P(up) = (x - below) / (above - below) at sixteenths of the way between neighbours, everywhere in the range of `T`.
template <class T>
void check_probabilities() {
    using format = hs::dtype_traits<T>;
    const auto value = [](std::uint32_t bits) { return T::from_bits(static_cast<typename T::bits_type>(bits)); };
    constexpr std::uint32_t first_normal = 1u << format::mantissa_bits;
    for (std::uint32_t bits : {0u, 1u, 2u, first_normal - 2, first_normal - 1, first_normal, first_normal + 1,
                               2 * first_normal - 1, format::largest_bits / 2, format::largest_bits - 1})
        for (std::uint32_t sign : {0u, patterns::sign_bit<T>}) {
            const T lower = value(sign | bits), upper = value(sign | (bits + 1));
            const float from = hs::widen(lower), gap = hs::widen(upper) - from;
            for (int sixteenth = 0; sixteenth < 16; ++sixteenth) {
                const exhaustive_count<T> count(from + gap * static_cast<float>(sixteenth) / 16, lower, upper);
                CAPTURE(bits, sign, sixteenth);
                REQUIRE(count.above == sixteenth * 4096);
                REQUIRE(count.elsewhere == 0);
            }
        }
}

template <class T>
T rounded(float x, std::uint32_t random) {
    T result;
    hs::stochastic_round_into(result, x, random);
    return result;
}

/// Finite values give a neighbour, never inf; inf and NaN narrow as they always do.
template <class T>
void check_ends() {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto largest = T::from_bits(static_cast<typename T::bits_type>(hs::dtype_traits<T>::largest_bits));
    const auto least = T::from_bits(static_cast<typename T::bits_type>(largest.bits | patterns::sign_bit<T>));
    random_words random(31);
    for (int i = 0; i < 200000; ++i) {
        const float x = random.any_float();
        const std::uint32_t word = i % 3 == 0 ? 0xFFFFFFFFu : random();
        if (!std::isfinite(x)) continue;
        const float result = hs::widen(rounded<T>(x, word));
        bool right = std::isfinite(result) && std::signbit(result) == std::signbit(x);
        // A neighbour: nothing representable lies strictly between.
        const double nearest = static_cast<double>(hs::widen(hs::narrow<T>(x)));
        if (std::isfinite(nearest)) {
            const double width = std::fabs(static_cast<double>(result) - static_cast<double>(x));
            const double other = std::fabs(nearest - static_cast<double>(x));
            right = right && width >= other;
            const auto next_up = hs::widen(T::from_bits(static_cast<typename T::bits_type>(rounded<T>(x, 0).bits + 1)));
            right = right && (result == hs::widen(rounded<T>(x, 0)) || result == next_up);
        }
        if (!right) FAIL("rounding " << x << " with " << word << " gave " << result);
    }
    for (float beyond : {hs::widen(largest) * 1.01f, 1e30f, std::numeric_limits<float>::max()})
        if (std::isfinite(beyond) && beyond > hs::widen(largest))
            for (std::uint32_t word : {0u, 0x80000000u, 0xFFFFFFFFu}) {
                REQUIRE(rounded<T>(beyond, word) == largest);
                REQUIRE(rounded<T>(-beyond, word) == least);
            }
    for (std::uint32_t word : {0u, 0xFFFFFFFFu}) {
        REQUIRE(rounded<T>(infinity, word) == hs::narrow<T>(infinity));
        REQUIRE(rounded<T>(-infinity, word) == hs::narrow<T>(-infinity));
        for (std::uint32_t bits : patterns::nan_patterns)
            REQUIRE(rounded<T>(hs::real_of(bits), word) == hs::narrow<T>(hs::real_of(bits)));
        for (float zero : {0.0f, -0.0f}) REQUIRE(rounded<T>(zero, word) == hs::narrow<T>(zero));
    }
}

struct first_group;
struct second_group;
constexpr int count = 65536;
const hs::bf16 one(1.0f), above_one = hs::bf16::from_bits(0x3F81);
const float quarter_way = hs::real_of(0x3F804000) - 1;  // of the way from 1 to the next bf16

/// Steps of SGD that move parameters of 1 a quarter of the way to the next bf16, by -1 gradients.
template <class Recipe>
class rounding_run {
  public:
    explicit rounding_run(float sign = 1, std::uint64_t seed = 0, std::vector<std::size_t> sizes = {count},
                          int threads = 1)
        : step_(Recipe{}, hs::stochastic_rounding{.seed = seed},
                hs::host_backend{.threads = threads, .elements_per_thread = 1}),
          sign_(sign) {
        for (std::size_t size : sizes) {
            parameters_.emplace_back(size);
            gradients_.emplace_back(size, hs::bf16(-sign));
        }
        reset();
        step_.bind(parameters_, gradients_);
    }
    /// Which elements went up in one more step from ±1, tensor after tensor.
    std::vector<bool> ups() {
        reset();
        REQUIRE(step_.step(quarter_way).applied);
        std::vector<bool> up;
        for (auto const& tensor : parameters_)
            for (hs::bf16 x : tensor) {
                if (std::fabs(hs::widen(x)) > hs::widen(above_one)) FAIL("rounded past the neighbour");
                up.push_back(std::fabs(hs::widen(x)) == hs::widen(above_one));
            }
        return up;
    }

  private:
    void reset() {
        for (auto& tensor : parameters_) std::fill(tensor.begin(), tensor.end(), hs::bf16(sign_));
    }
    hs::optimizer_step<typename Recipe::composition> step_;
    float sign_;
    std::vector<std::vector<hs::bf16>> parameters_, gradients_;
};
using recipe = hs::recipe<hs::bf16{}, hs::sgd<>{}, hs::stochastic_rounding{}>;

std::ptrdiff_t ups_in(std::vector<bool> const& up) { return std::count(up.begin(), up.end(), true); }

/// Elements that went the same way, if the two patterns have nothing to do with each other: 5/8 of them, within 5
/// sigma.
bool unrelated(std::vector<bool> const& a, std::vector<bool> const& b) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1u : 0u;
    const double n = static_cast<double>(a.size());
    return std::fabs(static_cast<double>(equal) - n * 5 / 8) < 5 * std::sqrt(n * 15 / 64);
}

}  // namespace

TEST_CASE("field case 5.3: stochastic rounding is unbiased") {
    SECTION("exactly a quarter of all 16-bit words rounds a quarter up, and negatives mirror") {
        const exhaustive_count<hs::bf16> up(hs::real_of(0x3F804000), one, above_one);
        REQUIRE(up.above == 16384);
        REQUIRE(up.below == 49152);
        const exhaustive_count<hs::bf16> down(hs::real_of(0xBF804000), hs::bf16::from_bits(0xBF80),
                                              hs::bf16::from_bits(0xBF81));
        REQUIRE(down.above == 16384);
        REQUIRE(down.below == 49152);
    }
    SECTION("in a step over 65536 equal elements 16384 go up, within five sigma") {
        const auto up = rounding_run<recipe>(1).ups(), down = rounding_run<recipe>(-1).ups();
        REQUIRE(std::abs(ups_in(up) - 16384) <= 555);
        REQUIRE(up == down);  // the mirror image, element by element
    }
}

TEST_CASE("field case 5.3: stochastic rounding is uncorrelated over tensors, steps, seeds and groups") {
    rounding_run<recipe> run;
    const auto first = run.ups(), second = run.ups(), third = run.ups();
    REQUIRE(unrelated(first, second));
    REQUIRE(unrelated(first, third));
    REQUIRE(unrelated(second, third));
    REQUIRE(unrelated(first, rounding_run<recipe>(1, 1).ups()));

    const auto both = rounding_run<recipe>(1, 0, {count, count}).ups();
    REQUIRE(unrelated({both.begin(), both.begin() + count}, {both.begin() + count, both.end()}));

    using two_groups = hs::recipe<hs::group<first_group, hs::bf16>{}, hs::group<second_group, hs::bf16>{}, hs::sgd<>{},
                                  hs::stochastic_rounding{}>;
    std::vector<hs::bf16> a(count, one), b(count, one);
    const std::vector<hs::bf16> gradient(count, hs::bf16(-1.0f));
    hs::optimizer_step opt{two_groups{}};
    opt.bind<first_group>(a, gradient);
    opt.bind<second_group>(b, gradient);
    REQUIRE(opt.step(quarter_way).applied);
    std::vector<bool> up_a, up_b;
    for (int i = 0; i < count; ++i) {
        up_a.push_back(a[static_cast<std::size_t>(i)] == above_one);
        up_b.push_back(b[static_cast<std::size_t>(i)] == above_one);
    }
    REQUIRE(unrelated(up_a, up_b));
}

TEST_CASE("the pattern is a function of seed, step and element: not of tensor borders, threads or calls") {
    const auto whole = rounding_run<recipe>().ups();
    REQUIRE(rounding_run<recipe>().ups() == whole);
    REQUIRE(rounding_run<recipe>(1, 0, {count}, 3).ups() == whole);
    REQUIRE(rounding_run<recipe>(1, 0, {1, 62, 1, 4096, 4097, count - 8257}).ups() == whole);
}

TEST_CASE("the probability of rounding up is the nearness, over all words, subnormals included") {
    SECTION("fp16") { check_probabilities<hs::fp16>(); }
    SECTION("bf16") { check_probabilities<hs::bf16>(); }
    SECTION("fp8_e4m3") { check_probabilities<hs::fp8_e4m3>(); }
    SECTION("fp8_e5m2") { check_probabilities<hs::fp8_e5m2>(); }
}

TEST_CASE("values far below the smallest subnormal go up as rarely as their size says") {
    // 2^-16 of the smallest subnormal: one word of 65536.
    REQUIRE(exhaustive_count<hs::fp16>(0x1p-40f, hs::fp16(0.0f), hs::fp16::from_bits(1)).above == 1);
    REQUIRE(exhaustive_count<hs::fp8_e4m3>(0x1p-25f, hs::fp8_e4m3(0.0f), hs::fp8_e4m3::from_bits(1)).above == 1);
    REQUIRE(exhaustive_count<hs::fp8_e5m2>(0x1p-32f, hs::fp8_e5m2(0.0f), hs::fp8_e5m2::from_bits(1)).above == 1);
    REQUIRE(exhaustive_count<hs::bf16>(0x1p-149f, hs::bf16(0.0f), hs::bf16::from_bits(1)).above == 1);
    REQUIRE(exhaustive_count<hs::fp16>(0x1p-41f, hs::fp16(0.0f), hs::fp16::from_bits(1)).above == 0);
}

TEST_CASE("a finite value stays finite and becomes a neighbour, inf and NaN narrow as usual") {
    check_ends<hs::fp16>();
    check_ends<hs::bf16>();
    check_ends<hs::fp8_e4m3>();
    check_ends<hs::fp8_e5m2>();
}
