// SPDX-License-Identifier: Apache-2.0
// Every recipe of the matrix on a device against the host, bit for bit, over 20 steps with overflows.
#include <catch.hpp>

#include <cstdio>
#include <cstring>
#include <string>

#include <cuda/device_step.hpp>
#include <matrix/composed_step.hpp>

using namespace matrix;

namespace {

bool same_decision(hs::step_record const& a, hs::step_record const& b) {
    const bool no_norm = a.gradient_norm != a.gradient_norm && b.gradient_norm != b.gradient_norm;
    return a.step == b.step && a.applied == b.applied && a.loss_scale == b.loss_scale && a.lr == b.lr &&
           a.next_loss_scale == b.next_loss_scale && a.applied_steps == b.applied_steps &&
           a.skipped_steps == b.skipped_steps &&
           (no_norm || std::memcmp(&a.gradient_norm, &b.gradient_norm, sizeof a.gradient_norm) == 0);
}

std::vector<std::byte> state_of(composed_step& step) {
    std::vector<std::byte> all;
    for (auto const& e : step.state())
        if (e.component != "control") all.insert(all.end(), e.bytes.begin(), e.bytes.end());
    return all;
}

/// What first differs, or nothing.
std::string difference(int index) {
    entry const& e = entry_at(index);
    byte_tensors parameters(e[dtype]), gradients(e[dtype]);
    fill_parameters(parameters);
    fill_gradients(gradients, 0, e[detection] != 3);
    const auto device = make_device_step(index);
    device->bind(parameters, gradients, 0);
    const auto host = make_step(index, hs::host_backend{});
    host->bind(parameters, gradients, 0);
    for (int s = 0; s < step_count; ++s) {
        fill_gradients(gradients, s, e[detection] != 3);
        host->bind_gradients(gradients, s);
        device->set_gradients(gradients, s);
        if (!same_decision(host->step(lr_at(s)), device->step(lr_at(s))))
            return "decision at step " + std::to_string(s);
        const auto p = parameters.bytes();
        if (device->parameters() != std::vector<std::byte>(p.begin(), p.end()))
            return "parameters at step " + std::to_string(s);
    }
    return device->state() == state_of(*host) ? "" : "state";
}

}  // namespace

TEST_CASE("a device computes the host's bits for every recipe of the matrix", "[cuda]") {
    int same = 0, different_count = 0;
    std::string different;
    for (int i = 0; i < recipe_count; ++i) {
        const std::string what = difference(i);
        if (what.empty())
            ++same;
        else if (++different_count <= 20)
            different += name_of(entry_at(i)) + ": " + what + "\n";
    }
    std::printf("figure recipes_same_bits %d\nfigure recipes_different_bits %d\n", same, different_count);
    REQUIRE(different == "");
    REQUIRE(different_count == 0);
}
