// SPDX-License-Identifier: Apache-2.0
// Memory and a stream of somebody else, bound through step_c.h; the composed step on the host says what has to come
// out. Prints "same bits".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "others_memory.hpp"
#include "recipes.hpp"
#include "step_c.h"

namespace hs = halfstep;

namespace {

void require(bool condition, char const* what) {
    if (condition) return;
    std::printf("failed: %s\n", what);
    std::exit(1);
}
void done(char const* sentence) { require(sentence == nullptr, sentence); }
void refused(char const* sentence, char const* part) {
    require(sentence != nullptr && std::strstr(sentence, part) != nullptr, sentence != nullptr ? sentence : part);
}

/// Tensors of fp16 on both sides.
struct tensors {
    std::vector<std::vector<hs::fp16>> host;
    std::vector<others_memory> theirs;
    explicit tensors(std::vector<std::int64_t> const& sizes) {
        for (std::int64_t size : sizes) {
            host.emplace_back(static_cast<std::size_t>(size));
            theirs.emplace_back(static_cast<std::size_t>(size) * sizeof(hs::fp16));
        }
    }
    void fill(float magnitude, unsigned seed) {
        for (std::size_t t = 0; t < host.size(); ++t) {
            for (std::size_t i = 0; i < host[t].size(); ++i) {
                seed = seed * 1664525u + 1013904223u;
                host[t][i] = hs::fp16((static_cast<float>(seed >> 8) * 0x1p-24f - 0.5f) * magnitude);
            }
            write();
        }
    }
    void write() {
        for (std::size_t t = 0; t < host.size(); ++t) theirs[t].write(host[t].data());
    }
    bool same() const {
        for (std::size_t t = 0; t < host.size(); ++t) {
            std::vector<hs::fp16> copy(host[t].size());
            theirs[t].read(copy.data());
            if (copy != host[t]) return false;
        }
        return true;
    }
    std::vector<void*> pointers() const {
        std::vector<void*> result;
        for (auto const& memory : theirs) result.push_back(memory.data());
        return result;
    }
};

}  // namespace

int main() {
    const std::vector<std::int64_t> sizes{1, 4095, 0, 10001};
    tensors parameters(sizes), gradients(sizes), others(sizes);
    parameters.fill(0.1f, 1);
    gradients.fill(100, 2);
    others.fill(100, 3);
    others.host[3][5000] = hs::fp16(std::numeric_limits<float>::infinity());
    others.write();
    const auto p = parameters.pointers(), g = gradients.pointers(), o = others.pointers();
    const others_stream stream;

    hs::optimizer_step expected{torch_extension::fp16_adamw{}};
    expected.bind(parameters.host, gradients.host);

    halfstep_handle* step = nullptr;
    refused(halfstep_create(&step, "fp17", sizes.size(), p.data(), g.data(), sizes.data(), stream),
            "no recipe 'fp17'; there are");
    if (others_memory::on_device) {
        auto wrong = p;
        wrong[3] = parameters.host[3].data();
        refused(halfstep_create(&step, "fp16_adamw", sizes.size(), wrong.data(), g.data(), sizes.data(), stream),
                "lies in host memory, but the step runs on a device");
    }
    done(halfstep_create(&step, "fp16_adamw", sizes.size(), p.data(), g.data(), sizes.data(), stream));
    refused(halfstep_step(step, -1, nullptr), "finite learning rate");

    float const* scale = nullptr;
    done(halfstep_loss_scale(step, &scale));
    require(others_memory::value_at(scale) == 65536, "the first loss scale");
    halfstep_record record{};
    for (int i = 0; i < 5; ++i) {  // the third one overflows
        expected.bind_gradients(i == 2 ? others.host : gradients.host);
        const hs::step_record r = expected.step(0.01f);
        done(halfstep_set_gradients(step, i == 2 ? o.data() : g.data()));
        done(halfstep_step(step, 0.01f, nullptr));
        done(halfstep_read_back(step, &record));
        require(record.applied == (r.applied ? 1 : 0) && record.applied_steps == r.applied_steps &&
                    record.gradient_norm == (r.applied ? r.gradient_norm : record.gradient_norm),
                "the record");
        require(others_memory::value_at(scale) == r.next_loss_scale, "the loss scale");
        require(parameters.same(), "the host's bits");
    }
    require(record.skipped_steps == 1, "one step is skipped");

    others_memory lr(sizeof(float));
    const float value = 0.002f;
    lr.write(&value);
    expected.step(value);
    done(halfstep_step(step, 0, static_cast<float const*>(lr.data())));
    done(halfstep_destroy(step));
    done(halfstep_destroy(nullptr));
    require(parameters.same(), "a learning rate in memory");
    std::printf("same bits\n");
}
