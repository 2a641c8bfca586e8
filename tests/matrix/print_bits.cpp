// SPDX-License-Identifier: Apache-2.0
// One line a recipe of the matrix: its number, a hash of all that 20 steps left behind, and what it is made of. Two
// builds of this program, or two runs of it, agree in every line if they compute the same bits: tests/same_bits.sh.
//
//   print_bits [threads] [stream]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <matrix/composed_step.hpp>
#include <span>

using namespace matrix;

namespace {

/// FNV-1a.
class hash {
  public:
    void add(std::span<std::byte const> bytes) {
        for (std::byte b : bytes) value_ = (value_ ^ static_cast<std::uint64_t>(b)) * 0x100000001B3u;
    }
    template <class T>
    void add_value(T const& x) {
        add(std::as_bytes(std::span(&x, 1)));
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xCBF29CE484222325u;
};

std::uint64_t bits_of_recipe(int index, hs::host_backend const& backend) {
    entry const& e = entry_at(index);
    byte_tensors parameters(e[dtype]), gradients(e[dtype]);
    fill_parameters(parameters);
    const auto step = make_step(index, backend);
    step->bind(parameters, gradients, 0);
    hash h;
    for (int s = 0; s < step_count; ++s) {
        fill_gradients(gradients, s, e[detection] != 3);
        step->bind_gradients(gradients, s);
        const auto record = step->step(lr_at(s));
        h.add_value(record.applied);
        h.add_value(record.next_loss_scale);
        const bool has_norm = record.gradient_norm == record.gradient_norm;  // of NaNs not the bits count
        h.add_value(has_norm ? record.gradient_norm : 0.0);
    }
    h.add(parameters.bytes());
    for (auto const& stretch : step->state())
        if (stretch.component != "control") h.add(stretch.bytes);
    return h.value();
}

}  // namespace

int main(int argc, char** argv) {
    hs::host_backend backend{.threads = argc > 1 ? std::atoi(argv[1]) : 1, .elements_per_thread = 1};
    backend.stream_above_bytes = argc > 2 ? 0 : std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < recipe_count; ++i) {
        if (!has_recipe(i)) continue;
        std::printf("%3d %016llx %s\n", i, static_cast<unsigned long long>(bits_of_recipe(i, backend)),
                    name_of(entry_at(i)).c_str());
    }
}
