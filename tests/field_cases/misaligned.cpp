// SPDX-License-Identifier: Apache-2.0
// Views that start 0 to 8 elements into a buffer, parameters and gradients independently, of every length from 1 to 67:
// the bits of an aligned run, and not a byte outside. Masters and moments lie in the step's own memory.
#include <array>
#include <catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <stdexcept>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr std::size_t longest = 67;
constexpr std::byte guard{0xA5};

/// One tensor of each length, all starting `offset` elements past a line of 64 bytes, surrounded by guard bytes.
template <class T>
class views {
  public:
    template <class F>
    views(std::size_t offset, F value) : offset_(offset), memory_(longest * stride + 64, guard) {
        for (std::size_t length = 1; length <= longest; ++length)
            for (std::size_t i = 0; i < length; ++i) {
                const T x(value(length, i));
                std::memcpy(at(length) + i, &x, sizeof x);
            }
    }
    std::vector<hs::tensor_view<T>> tensors() {
        std::vector<hs::tensor_view<T>> result;
        for (std::size_t length = 1; length <= longest; ++length)
            result.push_back({at(length), {static_cast<std::int64_t>(length)}});
        return result;
    }
    std::vector<T> elements() {
        std::vector<T> result;
        for (auto const& tensor : tensors())
            result.insert(result.end(), tensor.elements().begin(), tensor.elements().end());
        return result;
    }
    bool guards_untouched() {
        auto outside = memory_;
        for (std::size_t length = 1; length <= longest; ++length) {
            const auto begin = reinterpret_cast<std::byte*>(at(length)) - memory_.data();
            std::memset(outside.data() + begin, static_cast<int>(guard), length * sizeof(T));
        }
        return outside == std::vector<std::byte>(outside.size(), guard);
    }

  private:
    static constexpr std::size_t stride = 512;  // bytes from tensor to tensor, a multiple of 64
    T* at(std::size_t length) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        const std::size_t first_line = (64 - address % 64) % 64;
        return reinterpret_cast<T*>(memory_.data() + first_line + (length - 1) * stride) + offset_;
    }
    std::size_t offset_;
    std::vector<std::byte> memory_;
};

template <class T>
struct outcome {
    std::vector<T> parameters;
    std::vector<std::byte> state;
    double norm;
    bool guards;
};

/// Two steps on views with these offsets.
template <class T, class Recipe>
outcome<T> run(Recipe, std::size_t parameter_offset, std::size_t gradient_offset, std::int64_t stream_above) {
    const auto weight = [](std::size_t length, std::size_t i) {
        return 1 + 0.125f * static_cast<float>((length + 3 * i) % 7);
    };
    const auto slope = [](std::size_t length, std::size_t i) {
        return 0.25f * static_cast<float>((2 * length + i) % 9) - 1;
    };
    views<T> parameters(parameter_offset, weight), gradients(gradient_offset, slope);
    const std::vector<T> before = gradients.elements();
    hs::optimizer_step step{Recipe{}, hs::host_backend{.threads = 1, .stream_above_bytes = stream_above}};
    step.bind(parameters.tensors(), gradients.tensors());
    outcome<T> result{};
    for (int i = 0; i < 2; ++i) result.norm = step.step(0.1f).gradient_norm;
    step.visit_state([&](hs::state_entry const& entry) {
        if (entry.component == "control") return;
        result.state.insert(result.state.end(), entry.bytes.begin(), entry.bytes.end());
    });
    result.parameters = parameters.elements();
    result.guards = parameters.guards_untouched() && gradients.guards_untouched() && gradients.elements() == before;
    return result;
}

template <class T, class Recipe>
void check(Recipe recipe) {
    const outcome<T> aligned = run<T>(recipe, 0, 0, 1 << 30);
    CHECK(aligned.guards);
    for (std::size_t p = 0; p <= 8; ++p)
        for (std::size_t g = 0; g <= 8; ++g)
            for (std::int64_t stream_above : {std::int64_t{1} << 30, std::int64_t{0}}) {
                const outcome<T> shifted = run<T>(recipe, p, g, stream_above);
                const bool same = shifted.parameters == aligned.parameters && shifted.state == aligned.state &&
                                  shifted.norm == aligned.norm;
                if (!same || !shifted.guards)
                    FAIL("parameters " << p << ", gradients " << g << ", stream " << stream_above);
            }
}

}  // namespace

TEST_CASE("10.2 Views that are not 16-byte aligned") {
    check<hs::fp16>(hs::recipe<hs::fp16{}, hs::adamw{}, hs::static_scaling{1}, hs::clip_by_norm{5}>{});
    check<hs::bf16>(hs::recipe<hs::bf16{}, hs::lion{}, hs::kahan{}, hs::clip_by_norm{5}>{});
    check<float>(hs::recipe<hs::dtype<float>{}, hs::adamw{}, hs::clip_by_norm{5}>{});
}

TEST_CASE("10.2 Views that are not 16-byte aligned: the element's own alignment is required") {
    alignas(8) std::array<std::byte, 64> memory{};
    auto* odd = reinterpret_cast<hs::fp16*>(memory.data() + 1);
    auto* even = reinterpret_cast<hs::fp16*>(memory.data() + 2);
    hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::adamw{}>{}};
    const auto view = [](hs::fp16* data) { return hs::tensor_view<hs::fp16>(data, {4}); };
    CHECK_THROWS_AS(step.bind(view(odd), view(even)), std::invalid_argument);
    CHECK_THROWS_AS(step.bind(view(even), view(odd)), std::invalid_argument);
    CHECK_NOTHROW(step.bind(view(even), view(even)));
}
