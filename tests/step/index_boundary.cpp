// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <cstdint>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <span>
#include <vector>

namespace hs = halfstep;

namespace {

/// The second of two ranks, which never hears of the first.
struct second_rank {
    using slot = hs::communicator_slot;
    int rank() const { return 1; }
    int size() const { return 2; }
    void all_reduce(std::span<double>, hs::reduction) {}
    template <class T>
    void all_reduce_mean(std::span<T>) {}
    template <class T>
    void broadcast(std::span<T>, int) {}
};
/// Gives it what follows the first `first` elements, so that a group can begin anywhere without memory for what is
/// before.
struct from_element {
    using slot = hs::sharding_slot;
    static constexpr auto gradients = hs::gradient_collective::none;
    static constexpr auto parameters = hs::parameter_collective::none;
    static constexpr bool cuts_tensors = true;
    std::int64_t first = 0;
    constexpr hs::flat_range owned(std::int64_t elements, int rank, int) const {
        return rank == 0 ? hs::flat_range{0, first} : hs::flat_range{first, elements};
    }
};

/// Parameters and state after three steps on 100 elements, the first of which is number `first` of the group.
std::vector<std::byte> bytes_after(std::int64_t first) {
    constexpr int n = 100;
    std::vector<hs::bf16> parameter, gradient;
    for (int i = 0; i < n; ++i) {
        parameter.push_back(hs::bf16(1 + 0.01f * static_cast<float>(i)));
        gradient.push_back(hs::bf16(0.1f + static_cast<float>(i % 7)));
    }
    hs::optimizer_step step{hs::recipe<hs::bf16{}, hs::adamw{}, hs::kahan{}, from_element{}>{}, second_rank{},
                            from_element{first}};
    step.bind(std::array{hs::tensor_view<hs::bf16>(parameter.data(), {first}), hs::tensor_view<hs::bf16>(parameter)},
              std::array{hs::tensor_view<hs::bf16 const>(nullptr, {first}),
                         hs::tensor_view<hs::bf16 const>(gradient.data(), {n})});
    for (int s = 0; s < 3; ++s) step.step(0.01f);
    std::vector<std::byte> bytes(parameter.size() * sizeof(hs::bf16));
    std::memcpy(bytes.data(), parameter.data(), bytes.size());
    step.visit_state([&](hs::state_entry const& e) {
        if (e.component != "control") bytes.insert(bytes.end(), e.bytes.begin(), e.bytes.end());
    });
    return bytes;
}

}  // namespace

// Random bits change their key where an index passes a multiple of 2^32, so the loops cut there, in the midst of a
// tensor and of a lane pack. What lies on the other side of the cut must not be touched twice.
TEST_CASE("a tensor that crosses element 2^32 of its group advances like any other", "[step]") {
    const auto expected = bytes_after(1000);
    for (int inside : {1, 3, 5, 16, 37, 99}) {
        INFO(inside << " elements before the boundary");
        REQUIRE((bytes_after((std::int64_t{1} << 32) - inside) == expected));  // not bytes by the hundred in a message
    }
}
