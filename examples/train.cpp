// SPDX-License-Identifier: Apache-2.0
/// What loss scaling is for: one network fits one photograph in five kinds of precision.
///
/// Each variant is one recipe. Everything else is the same: the network, its first weights, the loss, the learning
/// rate, the number of steps. Prints a table; leaves pictures and the curve of the dynamic loss scale in the output
/// folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <halfstep/halfstep.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "picture_fit/fit.hpp"
#include "picture_fit/gallery.hpp"
#include "picture_fit/recipes.hpp"
#include "picture_fit/report.hpp"
#include "picture_fit/scale_curve_file.hpp"
#include "picture_fit/shrink.hpp"

namespace hs = halfstep;
namespace fs = std::filesystem;

namespace recipes = picture_fit::recipes;

namespace {

struct job {
    picture_fit::picture target;
    picture_fit::fit_settings settings;
    int seeds = 3;
};

/// Trains one variant with every seed. `values(seed)` replaces one of the recipe's values.
template <hs::storage_type T, class Recipe, class... ValueOfSeed>
picture_fit::variant_result train(job const& job, std::string name, picture_fit::progress_bar& progress,
                                  ValueOfSeed const&... values) {
    using step = decltype(hs::optimizer_step{Recipe{}});
    picture_fit::variant_result result{
        std::move(name), hs::narrow_type<T>, sizeof(T) + step::template state_bytes<hs::everything>(), {}};
    for (unsigned seed = 0; seed < static_cast<unsigned>(job.seeds); ++seed)
        result.runs.push_back(
            picture_fit::fit<T, Recipe>(job.target, job.settings, seed, result.name, progress, values(seed)...));
    return result;
}

int run(int argc, char** argv) {
    fs::path photograph = HALFSTEP_EXAMPLE_PHOTOGRAPH, out = "examples-out";
    int shrink = 1;
    job job;
    job.settings.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    CLI::App app{"Fits a photograph in five kinds of precision and compares them"};
    app.option_defaults()->always_capture_default();
    app.add_option("--photograph", photograph, "PNG to fit")->check(CLI::ExistingFile);
    app.add_option("--out", out, "folder for pictures and curves");
    app.add_option("--seeds", job.seeds, "runs of each variant")->check(CLI::Range(1, 1000000));
    app.add_option("--steps", job.settings.steps, "steps of each run")->check(CLI::Range(1, 1000000));
    app.add_option("--lr", job.settings.lr, "learning rate at the start")->check(CLI::Range(0.0f, 1e3f));
    app.add_option("--shrink", shrink, "makes the picture so many times smaller")->check(CLI::Range(1, 1000));
    app.add_option("--threads", job.settings.threads, "threads")->check(CLI::Range(1, 1000000));
    CLI11_PARSE(app, argc, argv);

    fs::create_directories(out);
    job.target = picture_fit::shrunk(picture_fit::read_png(photograph), shrink);
    job.settings.shape = picture_fit::fitted_to(job.target, job.settings.shape);
    fmt::print("{} x {} pixels, {} parameters, {} steps, {} seeds, {} threads\n", job.target.width, job.target.height,
               picture_fit::network_layout(job.settings.shape, job.target.width, job.target.height).parameters,
               job.settings.steps, job.seeds, job.settings.threads);
    std::fflush(stdout);

    std::vector<picture_fit::variant_result> variants;
    {
        picture_fit::progress_bar progress(5 * job.seeds * job.settings.steps);
        variants.push_back(train<float, recipes::fp32>(job, "fp32", progress));
        variants.push_back(train<hs::fp16, recipes::fp16_unscaled>(job, "fp16_unscaled", progress));
        variants.push_back(train<hs::fp16, recipes::fp16_static>(job, "fp16_static", progress));
        variants.push_back(train<hs::fp16, recipes::fp16_dynamic>(
            job, "fp16_dynamic", progress, [&](unsigned seed) { return picture_fit::scale_curve_in(out, seed); }));
        variants.push_back(train<hs::bf16, recipes::bf16_stochastic>(
            job, "bf16_stochastic", progress, [](unsigned seed) { return hs::stochastic_rounding{.seed = seed}; }));
    }
    print_table(variants);
    write_pictures(out, job.target, variants);
    fmt::print(
        "\npictures: {}\n  above: original, fp32, fp16_unscaled, fp16_dynamic; below: their errors, tenfold; each "
        "alone lies beside it\n",
        (out / "side_by_side.png").string());
    fmt::print("loss scale, loss and norm of every step: {}\n\n", (out / "scale_curve_seed0.csv").string());
    print_figures(variants);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (std::exception const& e) {
        fmt::print(stderr, "train: {}\n", e.what());
        return 1;
    }
}
