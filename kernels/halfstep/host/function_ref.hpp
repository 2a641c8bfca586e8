// SPDX-License-Identifier: Apache-2.0
/// A callable by reference, without its type: what takes one is no template, and a file compiles it once and not once a
/// composition.
#pragma once

namespace halfstep::host {

template <class Signature>
class function_ref;

/// Must not outlive the callable.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
  public:
    template <class F>
    function_ref(F const& f)
        : callable_(&f), call_([](void const* callable, Arguments... arguments) -> Result {
              return (*static_cast<F const*>(callable))(arguments...);
          }) {}
    Result operator()(Arguments... arguments) const { return call_(callable_, arguments...); }

  private:
    void const* callable_;
    Result (*call_)(void const*, Arguments...);
};

}  // namespace halfstep::host
