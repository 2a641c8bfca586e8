// SPDX-License-Identifier: Apache-2.0
/// A callable by reference, without its type: what takes one is no template, and a file compiles it once and not once a
/// composition.
#pragma once

#include <type_traits>

namespace halfstep::host {

template <class Signature>
class function_ref;

/// Must not outlive the callable.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
  public:
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref>)
    function_ref(F&& f)
        : callable_(const_cast<void*>(static_cast<void const*>(&f))),
          call_([](void* callable, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<F>*>(callable))(arguments...);
          }) {}
    Result operator()(Arguments... arguments) const { return call_(callable_, arguments...); }

  private:
    void* callable_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace halfstep::host
