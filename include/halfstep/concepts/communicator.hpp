// SPDX-License-Identifier: Apache-2.0
/// The concept of a communicator: the ranks that step together.
#pragma once

#include <concepts>
#include <span>

#include <halfstep/core/dtype.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

enum class reduction { sum, maximum };

namespace communicator_needs {
template <class P>
concept ranks = requires(P const p) {
    { p.rank() } -> std::convertible_to<int>;
    { p.size() } -> std::convertible_to<int>;
};
template <class P>
concept an_all_reduce = requires(P& p, std::span<double> scalars) { p.all_reduce(scalars, reduction::sum); };
template <class P>
concept a_mean = requires(P& p, std::span<fp16> narrow, std::span<float> wide) {
    p.all_reduce_mean(narrow);
    p.all_reduce_mean(wide);
};
template <class P>
concept a_broadcast = requires(P& p, std::span<fp16> narrow, std::span<float> wide, int root) {
    p.broadcast(narrow, root);
    p.broadcast(wide, root);
};
}  // namespace communicator_needs

/// Ranks 0 … size() - 1 of one world. `all_reduce` combines a few scalars, `all_reduce_mean` averages gradients of any
/// storage type (16-bit and narrower ones summed in fp32), `broadcast` hands a range from `root` to all.
///
/// Optional: `static constexpr bool alone = true` for a world of one; nothing is called then. Laws: every rank makes
/// the same calls in the same order; after a call every rank holds the same bits; a result is ready when the call
/// returns.
template <class P>
concept communicator =
    fills<P, communicator_slot> && communicator_needs::ranks<P> && communicator_needs::an_all_reduce<P> &&
    communicator_needs::a_mean<P> && communicator_needs::a_broadcast<P>;

/// True for a communicator that is always one rank alone.
template <class P>
inline constexpr bool is_alone = [] {
    if constexpr (requires { P::alone; })
        return static_cast<bool>(P::alone);
    else
        return false;
}();

namespace archetype {
struct communicator {
    using slot = communicator_slot;
    constexpr int rank() const { return 0; }
    constexpr int size() const { return 1; }
    void all_reduce(std::span<double>, reduction) {}
    template <class T>
    void all_reduce_mean(std::span<T>) {}
    template <class T>
    void broadcast(std::span<T>, int) {}
};
}  // namespace archetype
static_assert(communicator<archetype::communicator>);

namespace diagnose {
template <class P>
consteval auto a_communicator() {
    namespace needs = communicator_needs;
    if constexpr (!needs::ranks<P>)
        static_assert(needs::ranks<P>, "halfstep: this communicator lacks 'int rank() const' and 'int size() const'");
    else if constexpr (!needs::an_all_reduce<P>)
        static_assert(needs::an_all_reduce<P>,
                      "halfstep: this communicator lacks 'void all_reduce(std::span<double>, reduction)'");
    else if constexpr (!needs::a_mean<P>)
        static_assert(needs::a_mean<P>,
                      "halfstep: this communicator lacks 'void all_reduce_mean(std::span<T>)' for every storage type");
    else
        static_assert(
            needs::a_broadcast<P>,
            "halfstep: this communicator lacks 'void broadcast(std::span<T>, int root)' for every storage type");
    return true;
}
}  // namespace diagnose

}  // namespace halfstep
