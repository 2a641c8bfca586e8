// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <step/helpers.hpp>

namespace {

/// A file of this test's own, removed with it.
class temporary_file {
  public:
    explicit temporary_file(char const* suffix)
        : path_(std::filesystem::temp_directory_path() /
                ("halfstep_telemetry_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + suffix)) {}
    ~temporary_file() { std::filesystem::remove(path_); }
    template <hs::curve_format Format>
    hs::scale_curve<Format> curve(int every = 1) const {
        hs::scale_curve<Format> result{.every = every};
        REQUIRE(path_.string().size() < sizeof result.path);
        std::strcpy(result.path, path_.string().c_str());
        return result;
    }
    std::string text() const {
        std::ifstream file(path_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    std::filesystem::path path_;
};

/// Four steps: applied, skipped, applied with a loss, applied. Reads the file after each, while the step is alive.
template <hs::curve_format Format, bool Norm>
std::vector<std::string> text_after_each_step(temporary_file const& file, int every = 1) {
    using detection = std::conditional_t<Norm, hs::norm_check, hs::nonfinite_check>;
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::dynamic_scaling{.initial_scale = 2, .growth_interval = 2},
                              hs::scale_curve<Format>{}, detection{}>;
    std::vector<hs::fp16> p(2), g{hs::fp16(6.0f), hs::fp16(8.0f)};
    hs::optimizer_step step{recipe{}, file.curve<Format>(every)};
    step.bind(p, g);
    std::vector<std::string> text{file.text()};
    step.step(0.5f);
    text.push_back(file.text());
    g[1] = hs::fp16(inf);
    step.step(0.25f);
    text.push_back(file.text());
    g[1] = hs::fp16(8.0f);
    step.step({.lr = 0.125f, .loss = 2.75f});
    text.push_back(file.text());
    step.step(0.1f);
    text.push_back(file.text());
    return text;
}

}  // namespace

TEST_CASE("a scale curve in CSV has a header, and a line a step that can be read at once", "[step]") {
    const temporary_file file(".csv");
    const auto text = text_after_each_step<hs::csv, true>(file);
    std::string expected = "step,loss_scale,applied,gradient_norm,loss,lr,applied_steps,skipped_steps\n";
    REQUIRE(text[0].size() <= expected.size());  // the header may wait for the first line
    REQUIRE(text[1] == (expected += "1,2,1,5,,0.5,1,0\n"));
    REQUIRE(text[2] == (expected += "2,2,0,,,0.25,1,1\n"));  // an infinite norm is no number
    REQUIRE(text[3] == (expected += "3,1,1,10,2.75,0.125,2,1\n"));
    REQUIRE(text[4] == (expected += "4,1,1,10,,0.1,3,1\n"));
}

TEST_CASE("a scale curve in JSON lines has an object a step, with null for what is unknown", "[step]") {
    const temporary_file file(".jsonl");
    const auto text = text_after_each_step<hs::json_lines, false>(file);
    REQUIRE(text[0] == "");
    REQUIRE(
        text[4] ==
        R"({"step":1,"loss_scale":2,"applied":1,"gradient_norm":null,"loss":null,"lr":0.5,"applied_steps":1,"skipped_steps":0})"
        "\n"
        R"({"step":2,"loss_scale":2,"applied":0,"gradient_norm":null,"loss":null,"lr":0.25,"applied_steps":1,"skipped_steps":1})"
        "\n"
        R"({"step":3,"loss_scale":1,"applied":1,"gradient_norm":null,"loss":2.75,"lr":0.125,"applied_steps":2,"skipped_steps":1})"
        "\n"
        R"({"step":4,"loss_scale":1,"applied":1,"gradient_norm":null,"loss":null,"lr":0.1,"applied_steps":3,"skipped_steps":1})"
        "\n");
}

TEST_CASE("a scale curve of every third step still has each skipped one", "[step]") {
    const temporary_file file(".csv");
    const auto text = text_after_each_step<hs::csv, true>(file, 3).back();
    REQUIRE(contains(text, "\n2,2,0,"));
    REQUIRE(contains(text, "\n3,1,1,"));
    REQUIRE_FALSE(contains(text, "\n1,"));
    REQUIRE_FALSE(contains(text, "\n4,"));
}

TEST_CASE("a path that cannot be written is said when the step is built", "[step]") {
    hs::scale_curve<> curve{.path = "/no such folder/curve.csv"};
    const auto message = message_of<std::runtime_error>([&] {
        hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::scale_curve<>{}>{}, curve};
    });
    REQUIRE(contains(message, "/no such folder/curve.csv"));
    REQUIRE(hs::scale_curve<>{}.file_name() == "scale_curve.csv");
    REQUIRE(hs::scale_curve<hs::json_lines>{}.file_name() == "scale_curve.jsonl");
}

TEST_CASE("a path may fill its place to the last character", "[step]") {
    hs::scale_curve<> curve;
    std::memset(curve.path, 'x', sizeof curve.path);
    REQUIRE(curve.file_name() == std::string(sizeof curve.path, 'x'));
}

namespace {

/// Fails at every record.
struct failing {
    using slot = hs::telemetry_slot;
    struct recorder {
        explicit recorder(failing const&) {}
        void record(hs::step_record const&) { throw std::runtime_error("no room"); }
    };
};

}  // namespace

TEST_CASE("telemetry that throws does so after the step is complete", "[step]") {
    auto p = values<hs::fp16>(300, 1), q = p, g = values<hs::fp16>(300, 2);
    using plain = hs::recipe<hs::fp16{}, hs::adamw{}, hs::dynamic_scaling{.initial_scale = 8, .growth_interval = 1}>;
    using watched =
        hs::recipe<hs::fp16{}, hs::adamw{}, hs::dynamic_scaling{.initial_scale = 8, .growth_interval = 1}, failing{}>;
    hs::optimizer_step expected{plain{}};
    hs::optimizer_step step{watched{}};
    expected.bind(p, g);
    step.bind(q, g);
    for (int s = 0; s < 3; ++s) {
        g[299] = hs::fp16(s == 1 ? inf : 1.0f);
        const auto record = expected.step(0.1f);
        REQUIRE(message_of<std::runtime_error>([&] { step.step(0.1f); }) == "no room");
        REQUIRE(q == p);
        REQUIRE((state_of(step) == state_of(expected)));
        REQUIRE(step.loss_scale() == record.next_loss_scale);
        REQUIRE(step.last().step == record.step);
        REQUIRE(step.last().applied == record.applied);
        REQUIRE(step.applied_steps() == record.applied_steps);
        REQUIRE(step.skipped_steps() == record.skipped_steps);
    }
}

TEST_CASE("a loss scale that raises at its floor does so after the step is skipped", "[step]") {
    auto p = values<hs::fp16>(30, 1), g = values<hs::fp16>(30, 2);
    const auto before = p;
    hs::optimizer_step step{
        hs::recipe<hs::fp16{}, hs::adamw{},
                   hs::hysteresis_scaling<>{
                       .initial_scale = 2, .hysteresis = 1, .floor = 1, .floor_action = hs::at_floor::raise}>{}};
    step.bind(p, g);
    g[3] = hs::fp16(inf);
    REQUIRE_FALSE(step.step(0.1f).applied);
    REQUIRE(contains(message_of<std::runtime_error>([&] { step.step(0.1f); }), "floor"));
    REQUIRE(step.skipped_steps() == 2);
    REQUIRE(p == before);
    g[3] = hs::fp16(1.0f);
    REQUIRE(step.step(0.1f).applied);
}
