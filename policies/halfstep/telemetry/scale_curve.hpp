// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <halfstep/concepts/telemetry.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

enum class curve_format { csv, json_lines };
inline constexpr curve_format csv = curve_format::csv;
inline constexpr curve_format json_lines = curve_format::json_lines;

/// Writes a line a step: step, loss scale, whether it was applied, norm, loss, learning rate, counts.
///
/// CSV with a header line, or a JSON object a line; a number that was not computed or is not finite is an empty field,
/// or null. Numbers are the shortest that read back to the same value, in any locale. The file is replaced when the
/// step is built (std::runtime_error if it cannot be opened) and flushed with every line, so that it can be followed
/// while a run goes on. A line that cannot be written throws std::runtime_error; the step itself is complete then.
template <curve_format Format = curve_format::csv>
struct scale_curve {
    using slot = telemetry_slot;
    char path[240] = "scale_curve";  ///< where to write; the default gets `.csv` or `.jsonl`
    int every = 1;                   ///< writes every so many steps, and every skipped one; >= 1

    class recorder {
      public:
        explicit recorder(scale_curve const& p)
            : path_(p.file_name()), every_(p.every), file_(std::fopen(path_.c_str(), "w")) {
            if (file_ == nullptr) throw std::runtime_error("halfstep: scale_curve cannot write to '" + path_ + "'");
            if constexpr (Format == curve_format::csv)
                std::fputs("step,loss_scale,applied,gradient_norm,loss,lr,applied_steps,skipped_steps\n", file_);
        }
        recorder(recorder const&) = delete;
        recorder& operator=(recorder const&) = delete;
        ~recorder() { std::fclose(file_); }

        void record(step_record const& s) {
            if (s.applied && s.step % every_ != 0) return;
            line_.clear();
            field("step", s.step);
            field("loss_scale", s.loss_scale);
            field("applied", s.applied ? 1 : 0);
            field("gradient_norm", s.gradient_norm);
            field("loss", s.loss);
            field("lr", s.lr);
            field("applied_steps", s.applied_steps);
            field("skipped_steps", s.skipped_steps);
            line_ += Format == curve_format::csv ? "\n" : "}\n";
            if (std::fputs(line_.c_str(), file_) < 0 || std::fflush(file_) != 0)
                throw std::runtime_error("halfstep: scale_curve could not write a line to '" + path_ + "'");
        }

      private:
        template <class Number>
        void field(char const* name, Number value) {
            if constexpr (Format == curve_format::csv) {
                if (!line_.empty()) line_ += ',';
            } else {
                line_ += line_.empty() ? "{\"" : ",\"";
                line_ += name;
                line_ += "\":";
            }
            if (!is_nonfinite(static_cast<double>(value))) {
                char text[32];
                line_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
            } else if constexpr (Format == curve_format::json_lines) {
                line_ += "null";
            }
        }

        std::string path_;
        int every_;
        std::FILE* file_;
        std::string line_;
    };

    constexpr void validate() const {
        if (every < 1) throw std::invalid_argument("halfstep: scale_curve.every must be at least 1");
        if (path[0] == '\0') throw std::invalid_argument("halfstep: scale_curve.path must not be empty");
    }
    std::string file_name() const {
        std::size_t length = 0;  // a path may fill the array, without a zero after it
        while (length < sizeof path && path[length] != '\0') ++length;
        std::string name(path, length);
        if (name == "scale_curve") name += Format == curve_format::csv ? ".csv" : ".jsonl";
        return name;
    }
};
static_assert(telemetry<scale_curve<>> && telemetry<scale_curve<json_lines>>);

}  // namespace halfstep
