// SPDX-License-Identifier: Apache-2.0
/// The concept of an execution backend: whose memory, whose loops.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

#include <halfstep/core/report.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

namespace execution_backend_needs {
template <class P>
concept facts = requires {
    { P::device_memory } -> std::convertible_to<bool>;
    { P::synchronous } -> std::convertible_to<bool>;
};
template <class P>
concept memory = requires(P const p, std::size_t bytes, std::byte* there, std::byte const* here) {
    typename P::buffer;
    { p.allocate(bytes) } -> std::same_as<typename P::buffer>;
    { p.allocate(bytes).data() } -> std::same_as<std::byte*>;
    p.write(there, here, bytes);
    p.read(there, here, bytes);
};
/// A backend with memory of its own cannot work on what lies elsewhere.
template <class P>
concept an_objection = !P::device_memory || requires(P const p, void const* data) {
    { p.objection_to(data) } -> std::convertible_to<std::string>;
};
}  // namespace execution_backend_needs

/// Owns memory (`allocate` gives zeroed bytes, aligned to 64, freed with the buffer; `write` and `read` copy to and
/// from it) and runs the loops of a step over it. With `device_memory` it also has `std::string objection_to(void
/// const*)`: why memory cannot be bound, empty where it can. Fact `synchronous`: a step is complete when `run` returns.
template <class P>
concept execution_backend = fills<P, execution_backend_slot> && execution_backend_needs::facts<P> &&
                            execution_backend_needs::memory<P> && execution_backend_needs::an_objection<P>;

/// What a backend does for one composition, each asked where the step calls it. `initialise(policies, table)` fills the
/// companions of one group; `inspect(context)` looks at a micro-batch; `run(context, in)` makes a step. `context` is a
/// step_context.
///
/// Laws: `run` is reduce, inspect, agree, decide, update, publish in that order; a skipped step writes no parameter and
/// no state; nothing is allocated.
template <class P, class Values, class Table>
concept initialises = requires(P& p, Values policies, Table table) { p.initialise(policies, table); };
template <class P, class Context>
concept inspects = requires(P& p, Context& context) { p.inspect(context); };
template <class P, class Context>
concept runs = requires(P& p, Context& context, step_input const in) { p.run(context, in); };
/// `tensor_reports(table)`: a report on each row of a group, from what the last inspection left in its partials. Waits
/// on a device.
template <class P, class Table>
concept reports_tensors = requires(P const p, Table const table) {
    { p.tensor_reports(table) } -> std::same_as<std::vector<gradient_report>>;
};

namespace archetype {
struct execution_backend {
    using slot = execution_backend_slot;
    static constexpr bool device_memory = false;
    static constexpr bool synchronous = true;
    struct buffer {
        std::byte* data() const { return nullptr; }
    };
    buffer allocate(std::size_t) const { return {}; }
    void write(std::byte*, std::byte const*, std::size_t) const {}
    void read(std::byte*, std::byte const*, std::size_t) const {}
};
}  // namespace archetype
static_assert(execution_backend<archetype::execution_backend>);

namespace diagnose {
template <class P>
consteval auto an_execution_backend() {
    namespace needs = execution_backend_needs;
    if constexpr (!needs::facts<P>)
        static_assert(
            needs::facts<P>,
            "halfstep: this execution backend lacks 'static constexpr bool device_memory' and 'static constexpr "
            "bool synchronous'");
    else if constexpr (!needs::memory<P>)
        static_assert(
            needs::memory<P>,
            "halfstep: this execution backend lacks a type 'buffer', 'buffer allocate(std::size_t) const' with "
            "'std::byte* data()', 'write' or 'read'");
    else
        static_assert(
            needs::an_objection<P>,
            "halfstep: this execution backend has memory of its own and lacks 'std::string objection_to(void const* "
            "data) const', empty where data lies in it");
    return true;
}
template <class P, class Values, class Table>
consteval auto an_initialising_backend() {
    static_assert(
        initialises<P, Values, Table>,
        "halfstep: this execution backend lacks 'void initialise(Values const&, Table const&)' for this composition");
}
template <class P, class Context>
consteval auto an_inspecting_backend() {
    static_assert(inspects<P, Context>,
                  "halfstep: this execution backend lacks 'void inspect(Context&)' for this composition");
}
template <class P, class Context>
consteval auto a_running_backend() {
    static_assert(
        runs<P, Context>,
        "halfstep: this execution backend lacks 'void run(Context&, step_input const&)' for this composition");
}
template <class P, class Table>
consteval auto a_reporting_backend() {
    static_assert(
        reports_tensors<P, Table>,
        "halfstep: this execution backend lacks 'std::vector<gradient_report> tensor_reports(Table const&) const' for "
        "this composition");
}
}  // namespace diagnose

}  // namespace halfstep
