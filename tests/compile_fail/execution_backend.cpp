// SPDX-License-Identifier: Apache-2.0
// An execution backend written outside the library, with one member missing or of a wrong signature.
// case 1: halfstep: this execution backend lacks 'static constexpr bool device_memory' and 'static constexpr bool synchronous'
// case 2: halfstep: this execution backend lacks 'static constexpr bool device_memory' and 'static constexpr bool synchronous'
// case 3: halfstep: this execution backend lacks a type 'buffer', 'buffer allocate(std::size_t) const' with 'std::byte* data()', 'write' or 'read'
// case 4: halfstep: this execution backend lacks a type 'buffer', 'buffer allocate(std::size_t) const' with 'std::byte* data()', 'write' or 'read'
// case 5: halfstep: this execution backend lacks a type 'buffer', 'buffer allocate(std::size_t) const' with 'std::byte* data()', 'write' or 'read'
// case 6: halfstep: this execution backend lacks a type 'buffer', 'buffer allocate(std::size_t) const' with 'std::byte* data()', 'write' or 'read'
// case 7: halfstep: this execution backend lacks a type 'buffer', 'buffer allocate(std::size_t) const' with 'std::byte* data()', 'write' or 'read'
// case 8: halfstep: this execution backend lacks 'void initialise(Values const&, Table const&)' for this composition
// case 9: halfstep: this execution backend lacks 'void inspect(Context&)' for this composition
// case 10: halfstep: this execution backend lacks 'void run(Context&, step_input const&)' for this composition
// case 11: halfstep: this execution backend lacks 'void run(Context&, step_input const&)' for this composition
// case 12: halfstep: this execution backend has memory of its own and lacks 'std::string objection_to(void const* data) const', empty where data lies in it
// case 13: halfstep: this execution backend has memory of its own and lacks 'std::string objection_to(void const* data) const', empty where data lies in it
// case 14: halfstep: this execution backend lacks 'std::vector<gradient_report> tensor_reports(Table const&) const' for this composition
#include "in_case.hpp"

/// Hands everything on to the stock one.
struct passing_on {
    using slot = hs::execution_backend_slot;
    hs::host_backend host;

#if HALFSTEP_CASE == 12 || HALFSTEP_CASE == 13
    static constexpr bool device_memory = true;
#elif HALFSTEP_CASE != 1
    static constexpr bool device_memory = false;
#endif
#if HALFSTEP_CASE == 13
    bool objection_to(void const*) const { return false; }
#endif
#if HALFSTEP_CASE != 2
    static constexpr bool synchronous = true;
#endif

#if HALFSTEP_CASE == 4
    struct buffer {
        float* data() const { return nullptr; }
    };
#elif HALFSTEP_CASE != 3
    using buffer = hs::host_backend::buffer;
#endif
#if HALFSTEP_CASE == 4
    buffer allocate(std::size_t) const { return {}; }
#elif HALFSTEP_CASE != 5 && HALFSTEP_CASE != 3
    buffer allocate(std::size_t bytes) const { return host.allocate(bytes); }
#endif
#if HALFSTEP_CASE != 6
    void write(std::byte* to, std::byte const* from, std::size_t bytes) const { host.write(to, from, bytes); }
#endif
#if HALFSTEP_CASE != 7
    void read(std::byte* to, std::byte const* from, std::size_t bytes) const { host.read(to, from, bytes); }
#endif

#if HALFSTEP_CASE != 8
    template <class Values, class Table>
    void initialise(Values const& policies, Table const& table) const {
        host.initialise(policies, table);
    }
#endif
#if HALFSTEP_CASE != 14
    template <class Table>
    std::vector<hs::gradient_report> tensor_reports(Table const& table) const {
        return host.tensor_reports(table);
    }
#endif
#if HALFSTEP_CASE != 9
    template <class Context>
    void inspect(Context& context) const {
        host.inspect(context);
    }
#endif
#if HALFSTEP_CASE == 11
    template <class Context>
    void run(Context& context) const {
        host.run(context, {0.1f});
    }
#elif HALFSTEP_CASE != 10
    template <class Context>
    void run(Context& context, hs::step_input const& in) const {
        host.run(context, in);
    }
#endif
};

hs::step_record use() {
    std::vector<hs::fp16> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<hs::fp16{}>{}, passing_on{}};
    opt.bind(parameters, gradients);
    opt.inspect_micro_batch();
    (void)opt.tensor_reports<hs::everything>();
    return opt.step(opt.loss_scale());
}
