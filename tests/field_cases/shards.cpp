// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <cstdint>
#include <field_cases/layouts.hpp>
#include <field_cases/ranks.hpp>
#include <field_cases/saved_state.hpp>
#include <halfstep/halfstep.hpp>
#include <vector>

namespace hs = halfstep;

namespace {

/// Tensors of these sizes on every rank, one gradient for all.
struct model {
    std::vector<std::vector<hs::fp16>> parameters, gradients;
    explicit model(std::vector<std::size_t> const& sizes) {
        for (std::size_t size : sizes) {
            auto& parameter = parameters.emplace_back(size);
            for (std::size_t i = 0; i < size; ++i) parameter[i] = hs::fp16(1 + 0.25f * static_cast<float>(i));
            gradients.emplace_back(size);
        }
    }
    void set_gradients(int step) {
        for (auto& gradient : gradients)
            for (std::size_t i = 0; i < gradient.size(); ++i)
                gradient[i] = hs::fp16(static_cast<float>((static_cast<int>(i) * 7 + step * 3) % 5) - 1.5f);
    }
};

/// Elements of each moment that a rank keeps, tensor by tensor.
template <class Step>
std::vector<std::size_t> kept(Step& step) {
    std::vector<std::size_t> result;
    for (auto const& entry : saved_state(step))
        if (entry.component == "moment" && entry.number == 0) result.push_back(entry.bytes.size() / sizeof(float));
    return result;
}

/// What is the same for every world: three steps, and a save and load after the second.
template <class Layout>
std::vector<std::vector<std::size_t>> check_against_one_rank(std::vector<std::size_t> const& sizes, int world_size,
                                                             Layout layout) {
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::static_scaling{1}, Layout{}>;
    model alone(sizes);
    {
        hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::adamw{}, hs::static_scaling{1}>{}};
        step.bind(alone.parameters, alone.gradients);
        for (int i = 0; i < 3; ++i) {
            alone.set_gradients(i);
            step.step(0.1f);
        }
    }
    std::vector<std::vector<std::size_t>> owned(static_cast<std::size_t>(world_size));
    std::vector<model> models(owned.size(), model(sizes));
    std::vector<int> applied(owned.size());
    ranks::world everyone(world_size);
    ranks::run(everyone, [&](ranks::member self) {
        const auto rank = static_cast<std::size_t>(self.rank());
        model& mine = models[rank];
        std::vector<saved_entry> saved;
        {
            hs::optimizer_step step{recipe{}, self, layout};
            step.bind(mine.parameters, mine.gradients);
            for (int i = 0; i < 2; ++i) {
                mine.set_gradients(i);
                applied[rank] += step.step(0.1f).applied ? 1 : 0;
            }
            saved = saved_state(step);
            owned[rank] = kept(step);
        }
        hs::optimizer_step step{recipe{}, self, layout};
        step.bind(mine.parameters, mine.gradients);
        restore_state(step, saved);
        mine.set_gradients(2);
        applied[rank] += step.step(0.1f).applied ? 1 : 0;
    });
    for (std::size_t rank = 0; rank < models.size(); ++rank) {
        CHECK(applied[rank] == 3);
        CHECK(models[rank].parameters == alone.parameters);
    }
    return owned;
}
using sizes = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("7.1 More ranks than elements") {
    CHECK(check_against_one_rank({3}, 8, layouts::flat_split{}) == sizes{{1}, {1}, {1}, {}, {}, {}, {}, {}});
    CHECK(check_against_one_rank({10}, 4, layouts::fixed_shards{.shard = 4}) == sizes{{4}, {4}, {2}, {}});
    CHECK(check_against_one_rank({}, 2, layouts::flat_split{}) == sizes{{}, {}});
}

TEST_CASE("7.2 Zero-element parameters") {
    // Rank ranges [0, 16) and [16, 32): the first tensor whole, the empty one nowhere, the last one cut.
    CHECK(check_against_one_rank({8, 0, 24}, 2, layouts::flat_split{}) == sizes{{8, 8}, {16}});
    CHECK(check_against_one_rank({8, 0, 24, 0}, 2, layouts::flat_split{}) == sizes{{8, 8}, {16}});

    // A trailing parameter of shape (0, 8) keeps its shape and has no state.
    std::vector<float> weight(4, 1.0f), gradient(4, 1.0f);
    const std::array parameters{hs::tensor_view<float>(weight.data(), {2, 2}),
                                hs::tensor_view<float>(weight.data(), {0, 8}), hs::tensor_view<float>(nullptr, {0, 8})};
    const std::array gradients{hs::tensor_view<float const>(gradient.data(), {2, 2}),
                               hs::tensor_view<float const>(gradient.data(), {0, 8}),
                               hs::tensor_view<float const>(nullptr, {0, 8})};
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::adam{}>{}};
    step.bind(parameters, gradients);
    CHECK(step.step(0.5f).applied);
    for (float x : weight) CHECK(x == Approx(0.5f));
    CHECK(kept(step) == std::vector<std::size_t>{4});
    CHECK(parameters[1].extents() == hs::shape{0, 8});
    CHECK(parameters[1].extents().extent(1) == 8);
    CHECK(hs::view_as<float const>(parameters[1]).extents() == hs::shape{0, 8});
}
