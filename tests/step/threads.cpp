// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <step/helpers.hpp>

namespace {

struct left;
struct right;

/// Two groups of many sizes; after five steps, one of them skipped.
template <class Recipe>
std::vector<std::byte> bytes_with(hs::host_backend const& backend) {
    const std::vector<std::size_t> sizes{1, 4097, 0, 12288, 3, 50000};
    std::vector<std::vector<hs::bf16>> p, g;
    std::vector<std::vector<float>> q, h;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        p.push_back(values<hs::bf16>(sizes[i], i));
        g.push_back(values<hs::bf16>(sizes[i], i + 10));
        q.push_back(values<float>(sizes[i] / 2, i + 20));
        h.push_back(values<float>(sizes[i] / 2, i + 30));
    }
    hs::optimizer_step step{Recipe{}, backend};
    step.template bind<left>(p, g);
    step.template bind<right>(q, h);
    std::vector<std::byte> bytes;
    const auto keep = [&](auto const& x) {
        auto const* data = reinterpret_cast<std::byte const*>(x.data());
        bytes.insert(bytes.end(), data, data + x.size() * sizeof x[0]);
    };
    for (int s = 0; s < 5; ++s) {
        h[5][24999] = s == 2 ? nan_value : 0.5f;
        const auto record = step.step(0.01f);
        keep(std::vector<double>{record.gradient_norm, static_cast<double>(record.next_loss_scale)});
    }
    for (auto const& tensor : p) keep(tensor);
    for (auto const& tensor : q) keep(tensor);
    keep(state_of(step));
    return bytes;
}

template <class Recipe>
void same_bits() {
    const auto expected = bytes_with<Recipe>({.threads = 1});
    for (int threads = 2; threads <= 4; ++threads)
        for (std::int64_t each : {1, 5000}) {
            INFO(threads << " threads, at least " << each << " elements each");
            REQUIRE((bytes_with<Recipe>({.threads = threads, .elements_per_thread = each}) == expected));
        }
    REQUIRE((bytes_with<Recipe>({}) == expected));
}

}  // namespace

TEST_CASE("one to four threads give the same bits", "[step]") {
    same_bits<
        hs::recipe<hs::group<left, hs::bf16>{}, hs::group<right, float>{}, hs::adamw{}, hs::norm_check{},
                   hs::clip_by_norm{.max_norm = 10}, hs::dynamic_scaling{.initial_scale = 8, .growth_interval = 2}>>();
}
TEST_CASE("random bits do not depend on threads", "[step]") {
    same_bits<hs::recipe<hs::group<left, hs::bf16>{}, hs::group<right, float>{}, hs::lion{},
                         hs::on<left, hs::stochastic_rounding{.seed = 3}>{}, hs::norm_check{}>>();
}
