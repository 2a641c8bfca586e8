// SPDX-License-Identifier: Apache-2.0
/// The job of train.cpp on a device: the same network, picture and recipes, and a training loop in which the host waits
/// for nothing.
///
/// Prints how a run stands every some steps, and a table; leaves pictures and the curve of the dynamic loss scale in
/// the output folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "picture_fit/shrink.hpp"
#include "picture_fit_cuda/device_fit.hpp"
#include "picture_fit_cuda/device_table.hpp"

namespace fs = std::filesystem;
using namespace picture_fit;

namespace {

int run(int argc, char** argv) {
    fs::path photograph = HALFSTEP_EXAMPLE_PHOTOGRAPH;
    device_job job;
    job.folder = "examples-out";
    job.products = cublas_available() ? product_source::cublas : product_source::plain;
    int shrink = 1, seeds = 3;
    const std::map<std::string, product_source> sources{{"plain", product_source::plain},
                                                        {"cublas", product_source::cublas}};
    CLI::App app{"Fits a photograph in three kinds of precision on a CUDA device"};
    app.option_defaults()->always_capture_default();
    app.add_option("--photograph", photograph, "PNG to fit")->check(CLI::ExistingFile);
    app.add_option("--out", job.folder, "folder for pictures and curves");
    app.add_option("--seeds", seeds, "runs of each variant")->check(CLI::Range(1, 1000000));
    app.add_option("--steps", job.settings.steps, "steps of each run")->check(CLI::Range(2, 1000000));
    app.add_option("--lr", job.settings.lr, "learning rate at the start")->check(CLI::Range(0.0f, 1e3f));
    app.add_option("--shrink", shrink, "makes the picture so many times smaller")->check(CLI::Range(1, 1000));
    app.add_option("--report-every", job.report_every, "steps between two reports")->check(CLI::Range(1, 1000000));
    app.add_option("--gemm", job.products, "who multiplies matrices; cublas where there is one")
        ->transform(CLI::CheckedTransformer(sources));
    CLI11_PARSE(app, argc, argv);

    fs::create_directories(job.folder);
    job.target = shrunk(read_png(photograph), shrink);
    job.settings.shape = fitted_to(job.target, job.settings.shape);
    fmt::print("{}: {} x {} pixels, {} parameters, {} steps, {} seeds, products by {}\n", device_name(),
               job.target.width, job.target.height,
               network_layout(job.settings.shape, job.target.width, job.target.height).parameters, job.settings.steps,
               seeds, job.products == product_source::cublas ? "cuBLAS" : "plain kernels");

    std::vector<device_table_row> rows;
    for (device_variant const& variant : device_variants()) {
        device_table_row row{variant.name, variant.parameter_bytes, {}};
        for (unsigned seed = 0; seed < static_cast<unsigned>(seeds); ++seed)
            row.runs.push_back(variant.fit(job, seed, [&](device_progress const& p) {
                fmt::print("{:<16} seed {}  step {:>4}  loss {:.5f}  {:.2f} dB  loss scale {:g}  skipped {}\n",
                           variant.name, seed, p.step, p.loss, -10 * std::log10(p.loss), p.loss_scale, p.skipped);
                std::fflush(stdout);
            }));
        write_png(job.folder / fmt::format("{}_cuda.png", variant.name), row.runs.front().drawn);
        rows.push_back(std::move(row));
    }
    fmt::print("\n");
    print_device_table(rows);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (std::exception const& e) {
        fmt::print(stderr, "train_cuda: {}\n", e.what());
        return 1;
    }
}
