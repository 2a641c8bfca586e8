// SPDX-License-Identifier: Apache-2.0
/// A step as a backend sees it: values, control block, tables, and the parts that are the same everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <halfstep/compose/decide.hpp>
#include <halfstep/compose/group_storage.hpp>
#include <halfstep/concepts/communicator.hpp>
#include <halfstep/concepts/sharding_layout.hpp>

namespace halfstep {

/// Made anew for each step, from references; nothing is owned.
template <class Composition, class Communicator, class Groups>
class step_context {
  public:
    using composition = Composition;
    using communicator = Communicator;
    using policy_values = typename Composition::policy_values;
    using control_block = typename Composition::control_block;
    using sharding = typename Composition::sharding;

    /// `control` lies in the backend's memory, and so does `ring`: null, or places for `record_ring_size` records.
    step_context(policy_values const& policies, control_block* control, step_record* ring, Groups& groups,
                 sharding const& layout, Communicator& ranks)
        : policies_(policies), control_(control), ring_(ring), groups_(groups), layout_(layout), communicator_(ranks) {}

    policy_values const& policies() const { return policies_; }
    /// For a backend whose memory is the host's.
    control_block& control() const { return *control_; }
    control_block* control_memory() const { return control_; }
    step_record* ring_memory() const { return ring_; }

    /// Of a group that trains.
    template <std::size_t G>
    auto const& table() const {
        return get<G>(groups_).table();
    }
    /// `f(values of the group's policies, its table, its index)` for every group that trains.
    template <class F>
    void for_each_table(F&& f) const {
        for_each_index<Composition::group_count>([&](auto g) {
            if constexpr (Composition::template plan<g>::group::trains)
                f(get<g>(policies_.groups), get<g>(groups_).table(), g);
        });
    }

    /// 1. What the sharding layout does to the gradients first.
    void reduce() {
        if constexpr (!is_alone<Communicator> && sharding::gradients == gradient_collective::all_reduce)
            for_each_group([&](auto& group) {
                using element =
                    typename std::remove_cvref_t<decltype(group)>::gradient_type;  // bind asked for writable ones
                for (auto const& gradient : group.gradients())
                    communicator_.all_reduce_mean(gradient.template as<element>().elements());
            });
    }
    /// 3. Makes the reports those of all ranks, so that all apply a step or all skip it.
    void agree() {
        if constexpr (!is_alone<Communicator>) {
            constexpr std::size_t count = Composition::group_count;
            std::array<double, 2 * count + 1> maxima{};
            std::array<double, count> sums{};
            for (std::size_t g = 0; g < count; ++g) {
                maxima[2 * g] = control_->reports[g].flagged ? 1 : 0;
                maxima[2 * g + 1] = static_cast<double>(control_->reports[g].largest_magnitude);
                sums[g] = control_->reports[g].sum_of_squares;
            }
            // A verdict that rests on sums which no layout adds up must agree as well.
            maxima[2 * count] = overflow_found<Composition>(policies_, *control_) ? 1 : 0;
            communicator_.all_reduce(maxima, reduction::maximum);
            // Where ranks own different elements their squares add up; replicas of one gradient count once.
            if constexpr (sharding::parameters != parameter_collective::none)
                communicator_.all_reduce(sums, reduction::sum);
            for (std::size_t g = 0; g < count; ++g) {
                control_->reports[g].flagged = maxima[2 * g] != 0;
                control_->reports[g].largest_magnitude = static_cast<float>(maxima[2 * g + 1]);
                control_->reports[g].sum_of_squares = sums[g];
            }
            control_->micro_batch_overflowed = maxima[2 * count] != 0;
        }
    }
    /// 4. See decide.hpp.
    void decide(step_input const& in) { halfstep::decide<Composition>(policies_, *control_, in); }
    /// The verdict on a micro-batch, kept until the next decision.
    void note_micro_batch() { halfstep::note_micro_batch<Composition>(policies_, *control_); }
    /// 6. Hands every rank the parameters that others own.
    void publish() {
        if constexpr (!is_alone<Communicator> && sharding::parameters == parameter_collective::broadcast_owned)
            for_each_group([&](auto& group) {
                using element = typename std::remove_cvref_t<decltype(group)>::type;
                std::int64_t total = 0;
                for (auto const& parameter : group.parameters()) total += parameter.size();
                for (int root = 0; root < communicator_.size(); ++root) {
                    const flat_range owned = layout_.owned(total, root, communicator_.size());
                    std::int64_t first = 0;
                    for (auto const& parameter : group.parameters()) {
                        const flat_range part = overlap(owned, {first, first + parameter.size()});
                        if (!part.empty())
                            communicator_.broadcast(parameter.template as<element>().elements().subspan(
                                                        static_cast<std::size_t>(part.begin - first),
                                                        static_cast<std::size_t>(part.end - part.begin)),
                                                    root);
                        first += parameter.size();
                    }
                }
            });
    }

  private:
    template <class F>
    void for_each_group(F&& f) {
        for_each_index<Composition::group_count>([&](auto g) {
            if constexpr (Composition::template plan<g>::group::trains) f(get<g>(groups_));
        });
    }

    policy_values const& policies_;
    control_block* control_;
    step_record* ring_;
    Groups& groups_;
    sharding const& layout_;
    Communicator& communicator_;
};

}  // namespace halfstep
