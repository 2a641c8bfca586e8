// SPDX-License-Identifier: Apache-2.0
// A storage rule written outside the library, with one member missing or of a wrong signature, and for another dtype.
// case 1: halfstep: this storage rule lacks 'template <class T> using companion', no_companion for none
// case 2: halfstep: this storage rule lacks 'template <class T> using companion', no_companion for none
// case 3: halfstep: this storage rule lacks 'companion<T> initial(T parameter) const' for the group's dtype
// case 4: halfstep: this storage rule lacks 'companion<T> initial(T parameter) const' for the group's dtype
// case 5: halfstep: this storage rule lacks 'float load(T parameter, companion<T>) const' for the group's dtype
// case 6: halfstep: this storage rule lacks 'float load(T parameter, companion<T>) const' for the group's dtype
// case 7: halfstep: this storage rule lacks 'void store(float value, T& parameter, companion<T>&, noise<float>) const' for the group's dtype
// case 8: halfstep: this storage rule lacks 'void store(float value, T& parameter, companion<T>&, noise<float>) const' for the group's dtype
// case 9: halfstep: this storage rule lacks 'void store(float value, T& parameter, companion<T>&, noise<float>) const' for the group's dtype
// case 10: halfstep: this storage rule lacks 'void store(float value, T& parameter, companion<T>&, noise<float>) const' for the group's dtype
// case 11: halfstep: this storage rule lacks 'companion<T> initial(T parameter) const' for the group's dtype
// case 12: halfstep: this storage rule lacks 'template <class T> using companion', no_companion for none
#include "in_case.hpp"

/// fp16 parameters beside a double.
struct double_master {
    using slot = hs::storage_slot;

#if HALFSTEP_CASE == 2
    template <class T>
    using companion = std::vector<double>;
#elif HALFSTEP_CASE == 12
    using companion = double;
#elif HALFSTEP_CASE != 1
    template <class T>
    using companion = double;
#endif

#if HALFSTEP_CASE == 4
    constexpr float initial(hs::fp16 parameter) const { return hs::widen(parameter); }
#elif HALFSTEP_CASE != 3
    constexpr double initial(hs::fp16 parameter) const { return static_cast<double>(hs::widen(parameter)); }
#endif

#if HALFSTEP_CASE == 6
    constexpr double load(hs::fp16, double master) const { return master; }
#elif HALFSTEP_CASE != 5
    constexpr float load(hs::fp16, double master) const { return static_cast<float>(master); }
#endif

#if HALFSTEP_CASE == 8
    constexpr void store(float value, hs::fp16& parameter, double& master) const {
        master = static_cast<double>(value);
        hs::round_into(parameter, value);
    }
#elif HALFSTEP_CASE == 9   // a copy: the parameter would stay as it is
    constexpr void store(float value, hs::fp16 parameter, double& master, hs::noise<float>) const {
        master = static_cast<double>(value);
        hs::round_into(parameter, value);
    }
#elif HALFSTEP_CASE == 10  // a copy: the master would stay as it is
    constexpr void store(float value, hs::fp16& parameter, [[maybe_unused]] double master, hs::noise<float>) const {
        master = static_cast<double>(value);
        hs::round_into(parameter, value);
    }
#elif HALFSTEP_CASE != 7
    constexpr void store(float value, hs::fp16& parameter, double& master, hs::noise<float>) const {
        master = static_cast<double>(value);
        hs::round_into(parameter, value);
    }
#endif
};

#if HALFSTEP_CASE == 11
using dtype = hs::bf16;
#else
using dtype = hs::fp16;
#endif

hs::step_record use() {
    std::vector<dtype> parameters(8), gradients(8);
    hs::optimizer_step opt{hs::recipe<dtype{}, double_master{}>{}};
    opt.bind(parameters, gradients);
    return opt.step(opt.loss_scale());
}
