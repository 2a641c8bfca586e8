// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <cstdio>
#include <cstring>
#include <limits>
#include <matrix/composed_step.hpp>
#include <matrix/reference.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace matrix;

namespace {

/// What 20 steps of one recipe showed. A step number says where something first went wrong, -1 that it never did.
struct outcome {
    int applied = 0, skipped = 0, clipped = 0, unclipped = 0;
    bool grew = false, backed_off = false;
    int wrong_record = -1;       ///< verdict, scales, norm or counts
    int touched_by_a_skip = -1;  ///< a byte of parameters or state, or the count of applied steps
    int wrong_parameters = -1;
    int wrong_state = -1;
    int wrong_with_two_threads = -1;
    int wrong_with_streaming = -1;
};

bool same_bits(std::span<std::byte const> a, std::span<std::byte const> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}
bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same_decision(hs::step_record const& a, hs::step_record const& b) {
    const bool same_norm =
        (std::isnan(a.gradient_norm) && std::isnan(b.gradient_norm)) || same_bits(a.gradient_norm, b.gradient_norm);
    return a.step == b.step && a.applied == b.applied && a.loss_scale == b.loss_scale &&
           a.next_loss_scale == b.next_loss_scale && a.applied_steps == b.applied_steps &&
           a.skipped_steps == b.skipped_steps && a.lr == b.lr && same_norm;
}

/// One composed step with its own copy of the parameters.
struct run {
    byte_tensors parameters;
    std::unique_ptr<composed_step> step;
    std::vector<hs::state_entry> state;

    run(int index, byte_tensors const& initial, byte_tensors const& gradients, hs::host_backend const& backend)
        : parameters(initial), step(make_step(index, backend)) {
        step->bind(parameters, gradients, 0);
        state = step->state();
    }
    /// Parameters, and the state without the control block.
    std::vector<std::byte> all_bytes() const {
        const auto p = parameters.bytes();
        std::vector<std::byte> bytes(p.begin(), p.end());
        for (auto const& e : state)
            if (e.component != "control") bytes.insert(bytes.end(), e.bytes.begin(), e.bytes.end());
        return bytes;
    }
};

bool same_run(run const& a, run const& b) {
    if (!same_bits(a.parameters.bytes(), b.parameters.bytes()) || a.state.size() != b.state.size()) return false;
    for (std::size_t i = 0; i < a.state.size(); ++i)
        if (a.state[i].component != "control" && !same_bits(a.state[i].bytes, b.state[i].bytes)) return false;
    return true;
}

bool same_state(run const& r, reference const& expected) {
    std::size_t visited = 1;  // after the control block
    for (int t = 0; t < tensor_count; ++t) {
        if (tensor_sizes[t] == 0) continue;
        const auto next = [&](std::string_view component, int number, std::span<std::byte const> bytes) {
            auto const& e = r.state.at(visited++);
            return e.tensor == static_cast<std::size_t>(t) && e.component == component && e.number == number &&
                   same_bits(e.bytes, bytes);
        };
        const auto companion = expected.companion(t);
        if (!companion.empty() && !next("companion", 0, companion)) return false;
        for (int k = 0; k < expected.moments(); ++k)
            if (!next("moment", k, expected.moment(t, k))) return false;
        const std::int64_t missed = expected.missed_steps(t);
        if (!next("missed_steps", 0, std::as_bytes(std::span(&missed, 1)))) return false;
    }
    return visited == r.state.size();
}

outcome run_recipe(int index) {
    entry const& e = entry_at(index);
    const bool faults = e[detection] != 3;  // no_check is told of none: it would let them into the weights
    byte_tensors parameters(e[dtype]), gradients(e[dtype]);
    fill_parameters(parameters);
    reference expected(e, parameters);
    constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    run one(index, parameters, gradients, hs::host_backend{.threads = 1, .stream_above_bytes = never});
    run two(index, parameters, gradients,
            hs::host_backend{.threads = 2, .elements_per_thread = 1, .stream_above_bytes = never});
    run streaming(index, parameters, gradients, hs::host_backend{.threads = 1, .stream_above_bytes = 0});

    outcome result;
    const auto note = [](int& first, int step, bool fine) {
        if (!fine && first < 0) first = step;
    };
    for (int s = 0; s < step_count; ++s) {
        fill_gradients(gradients, s, faults);
        for (run* r : {&one, &two, &streaming}) r->step->bind_gradients(gradients, s);
        const auto before = one.all_bytes();
        const float scale = one.step->loss_scale();

        const auto record = one.step->step(lr_at(s));
        const auto wanted = expected.step(lr_at(s), gradients, s);
        note(result.wrong_record, s,
             same_decision(record, wanted) && scale == wanted.loss_scale &&
                 one.step->loss_scale() == expected.loss_scale());
        note(result.wrong_parameters, s, same_bits(one.parameters.bytes(), expected.parameters().bytes()));
        note(result.wrong_state, s, same_state(one, expected));
        if (!record.applied)
            note(result.touched_by_a_skip, s, one.all_bytes() == before && record.applied_steps == result.applied);

        note(result.wrong_with_two_threads, s, same_decision(record, two.step->step(lr_at(s))) && same_run(one, two));
        note(result.wrong_with_streaming, s,
             same_decision(record, streaming.step->step(lr_at(s))) && same_run(one, streaming));

        ++(record.applied ? result.applied : result.skipped);
        result.grew = result.grew || record.next_loss_scale > record.loss_scale;
        result.backed_off = result.backed_off || record.next_loss_scale < record.loss_scale;
    }
    result.clipped = expected.clipped_steps();
    result.unclipped = expected.unclipped_steps();
    return result;
}

/// Runs the matrix once, whichever test asks first.
std::vector<outcome> const& outcomes() {
    static const std::vector<outcome> all = [] {
        std::vector<outcome> results;
        for (int i = 0; i < recipe_count; ++i) results.push_back(has_recipe(i) ? run_recipe(i) : outcome{});
        return results;
    }();
    return all;
}

/// The recipes for which `first_wrong` is not -1, and at which step.
std::string failures(int outcome::*first_wrong) {
    std::string text;
    for (int i = 0; i < recipe_count; ++i) {
        const int step = outcomes()[static_cast<std::size_t>(i)].*first_wrong;
        if (step >= 0) text += name_of(entry_at(i)) + ": at step " + std::to_string(step) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("a skipped step leaves every byte of parameters and state, whatever the recipe", "[matrix]") {
    REQUIRE(failures(&outcome::touched_by_a_skip) == "");
}
TEST_CASE("verdicts, scales, norms and counts are those of the policies driven alone", "[matrix]") {
    REQUIRE(failures(&outcome::wrong_record) == "");
}
TEST_CASE("parameters have the bits of the scalar functions applied one element at a time", "[matrix]") {
    REQUIRE(failures(&outcome::wrong_parameters) == "");
}
TEST_CASE("moments, companions and missed steps have those bits too", "[matrix]") {
    REQUIRE(failures(&outcome::wrong_state) == "");
}
TEST_CASE("two threads give the bits of one", "[matrix]") { REQUIRE(failures(&outcome::wrong_with_two_threads) == ""); }
TEST_CASE("streaming stores give the bits of plain ones", "[matrix]") {
    REQUIRE(failures(&outcome::wrong_with_streaming) == "");
}

TEST_CASE("the matrix meets what it is there for", "[matrix]") {
    int grew = 0, backed_off = 0, clipped = 0, unclipped = 0;
    for (int i = 0; i < recipe_count; ++i) {
        if (!has_recipe(i)) continue;
        entry const& e = entry_at(i);
        outcome const& o = outcomes()[static_cast<std::size_t>(i)];
        INFO(name_of(e));
        REQUIRE(o.skipped == (e[detection] == 3 ? 0 : 7));
        REQUIRE(o.applied == step_count - o.skipped);
        grew += o.grew;
        backed_off += o.backed_off;
        clipped += o.clipped > 0;
        unclipped += o.clipped > 0 && o.unclipped > 0;
        if (e[scaling] == 1 || e[scaling] == 4) REQUIRE_FALSE((o.grew || o.backed_off));
        if (e[scaling] == 0) REQUIRE((o.grew && o.backed_off));
    }
    if (!has_every_part) return;
    REQUIRE(grew > 60);
    REQUIRE(backed_off > 60);
    REQUIRE(clipped > 30);
    REQUIRE(unclipped > 20);
    static_assert(recipe_count >= 150);
    std::printf("figure matrix_recipes %d\n", recipe_count);
}
