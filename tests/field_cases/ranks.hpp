// SPDX-License-Identifier: Apache-2.0
/// Ranks as threads of this process: a communicator written outside of the library, for the cases that need more than
/// one rank.
#pragma once

#include <barrier>
#include <cstddef>
#include <exception>
#include <halfstep/concepts/communicator.hpp>
#include <span>
#include <thread>
#include <vector>

namespace ranks {

/// What the ranks of one world share.
struct world {
    explicit world(int size) : all_here(size), data(static_cast<std::size_t>(size)), calls(data.size()) {}
    std::barrier<> all_here;
    std::vector<void*> data;  ///< of each rank, during a collective
    std::vector<int> calls;   ///< of scalar reductions, by each rank
};

class member {
  public:
    using slot = halfstep::communicator_slot;
    member(world& everyone, int rank) : world_(&everyone), rank_(rank) {}

    int rank() const { return rank_; }
    int size() const { return static_cast<int>(world_->data.size()); }

    void all_reduce(std::span<double> x, halfstep::reduction how) {
        ++world_->calls[static_cast<std::size_t>(rank_)];
        std::vector<double> result(x.size());
        collect(x.data(), [&](void* theirs, int rank) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double value = static_cast<double*>(theirs)[i];
                if (rank == 0)
                    result[i] = value;
                else if (how == halfstep::reduction::sum)
                    result[i] += value;
                else
                    result[i] = value > result[i] ? value : result[i];
            }
        });
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = result[i];
    }
    template <class T>
    void all_reduce_mean(std::span<T> x) {
        std::vector<float> sum(x.size());
        collect(x.data(), [&](void* theirs, int) {
            for (std::size_t i = 0; i < x.size(); ++i) sum[i] += halfstep::widen(static_cast<T*>(theirs)[i]);
        });
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = halfstep::narrow<T>(sum[i] / static_cast<float>(size()));
    }
    template <class T>
    void broadcast(std::span<T> x, int root) {
        collect(x.data(), [&](void* theirs, int rank) {
            if (rank != root || rank == rank_) return;
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T*>(theirs)[i];
        });
    }

    /// Leaves the world, so that nobody waits for this rank.
    void leave() { world_->all_here.arrive_and_drop(); }

  private:
    /// `f(their data, rank)` for every rank in order, while all data lies still.
    template <class F>
    void collect(void* mine, F&& f) {
        world_->data[static_cast<std::size_t>(rank_)] = mine;
        world_->all_here.arrive_and_wait();
        for (int rank = 0; rank < size(); ++rank) f(world_->data[static_cast<std::size_t>(rank)], rank);
        world_->all_here.arrive_and_wait();
    }

    world* world_;
    int rank_;
};
static_assert(halfstep::communicator<member>);

/// `f(communicator)` on a thread for each rank. An exception of any rank comes out here; the assertions of a test
/// belong after the call.
template <class F>
void run(world& everyone, F&& f) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> thrown(everyone.data.size());
    for (int rank = 0; rank < static_cast<int>(everyone.data.size()); ++rank)
        threads.emplace_back([&, rank] {
            member self(everyone, rank);
            try {
                f(self);
            } catch (...) {
                thrown[static_cast<std::size_t>(rank)] = std::current_exception();
                self.leave();
            }
        });
    for (auto& thread : threads) thread.join();
    for (auto const& error : thrown)
        if (error) std::rethrow_exception(error);
}

}  // namespace ranks
