// SPDX-License-Identifier: Apache-2.0
/// A line on stderr that shows how far the runs are: redrawn on a terminal, one a run elsewhere.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace picture_fit {

class progress_bar {
    using clock = std::chrono::steady_clock;

  public:
    explicit progress_bar(int steps) : steps_(steps), redraws_(isatty(fileno(stderr)) != 0) {}
    progress_bar(progress_bar const&) = delete;
    progress_bar& operator=(progress_bar const&) = delete;
    ~progress_bar() {
        if (redraws_) fmt::print(stderr, "\r\x1b[K");
    }

    /// One more step is done; `what` says of which run, `state` how it stands.
    void advance(std::string_view what, std::string_view state) {
        ++done_;
        const auto now = clock::now();
        if (!redraws_ || (done_ < steps_ && now - drawn_ < std::chrono::milliseconds(100))) return;
        drawn_ = now;
        constexpr int cells = 24;
        const int filled = cells * done_ / steps_;
        std::string bar;
        for (int i = 0; i < cells; ++i) bar += i < filled ? "█" : "░";
        const double seconds = std::chrono::duration<double>(now - start_).count();
        const int left = static_cast<int>(seconds / done_ * (steps_ - done_) + 0.5);
        fmt::print(stderr, "\r{} {:3d} %  {:02d}:{:02d} left  {}  {}\x1b[K", bar, 100 * done_ / steps_, left / 60,
                   left % 60, what, state);
        std::fflush(stderr);
    }
    /// A run is over.
    void finish_run(std::string_view what, std::string_view result) {
        if (!redraws_) fmt::print(stderr, "{:3d} %  {}  {}\n", 100 * done_ / steps_, what, result);
    }

  private:
    int steps_, done_ = 0;
    bool redraws_;
    clock::time_point start_ = clock::now(), drawn_{};
};

}  // namespace picture_fit
