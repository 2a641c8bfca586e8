// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <halfstep/concepts/telemetry.hpp>

namespace halfstep {

enum class curve_format { csv, json_lines };
inline constexpr curve_format csv = curve_format::csv;
inline constexpr curve_format json_lines = curve_format::json_lines;

/// Writes a line a step: step, loss scale, whether it was applied, norm, loss, learning rate, counts.
///
/// CSV with a header line, or a JSON object a line; a number that was not computed or is not finite is an empty field, or null.
/// The file is replaced when the step is built (std::runtime_error if it cannot be opened) and flushed with every line, so that it can be
/// followed while a run goes on. A line that cannot be written throws std::runtime_error; the step itself is complete then.
template <curve_format Format = curve_format::csv>
struct scale_curve {
    using slot = telemetry_slot;
    char path[240] = "scale_curve";  ///< where to write; the default gets `.csv` or `.jsonl`
    int every = 1;                   ///< writes every so many steps, and every skipped one; >= 1

    class recorder {
      public:
        explicit recorder(scale_curve const& p)
            : path_(p.file_name()), every_(p.every), file_(std::fopen(path_.c_str(), "w")) {
            if (!file_) throw std::runtime_error("halfstep: scale_curve cannot write to '" + path_ + "'");
            if constexpr (Format == curve_format::csv)
                std::fputs("step,loss_scale,applied,gradient_norm,loss,lr,applied_steps,skipped_steps\n", file_.get());
        }
        void record(step_record const& s) {
            if (s.applied && s.step % every_ != 0) return;
            constexpr char const* line =
                Format == curve_format::csv
                    ? "%lld,%.9g,%d,%s,%s,%.9g,%lld,%lld\n"
                    : "{\"step\":%lld,\"loss_scale\":%.9g,\"applied\":%d,\"gradient_norm\":%s,\"loss\":%s,\"lr\":%.9g,"
                      "\"applied_steps\":%lld,\"skipped_steps\":%lld}\n";
            const int written =
                std::fprintf(file_.get(), line, static_cast<long long>(s.step), static_cast<double>(s.loss_scale),
                             s.applied ? 1 : 0, number(s.gradient_norm).c_str(),
                             number(static_cast<double>(s.loss)).c_str(), static_cast<double>(s.lr),
                             static_cast<long long>(s.applied_steps), static_cast<long long>(s.skipped_steps));
            if (written < 0 || std::fflush(file_.get()) != 0)
                throw std::runtime_error("halfstep: scale_curve could not write a line to '" + path_ + "'");
        }

      private:
        static std::string number(double x) {
            if (!std::isfinite(x)) return Format == curve_format::csv ? "" : "null";
            char text[32];
            std::snprintf(text, sizeof text, "%.9g", x);
            return text;
        }
        struct closer {
            void operator()(std::FILE* f) const { std::fclose(f); }
        };
        std::string path_;
        int every_;
        std::unique_ptr<std::FILE, closer> file_;
    };

    constexpr void validate() const {
        if (every < 1) throw std::invalid_argument("halfstep: scale_curve.every must be at least 1");
        if (path[0] == '\0') throw std::invalid_argument("halfstep: scale_curve.path must not be empty");
    }
    std::string file_name() const {
        std::string name = path;
        if (name == "scale_curve") name += Format == curve_format::csv ? ".csv" : ".jsonl";
        return name;
    }
};
static_assert(telemetry<scale_curve<>> && telemetry<scale_curve<json_lines>>);

}  // namespace halfstep
