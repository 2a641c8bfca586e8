// SPDX-License-Identifier: Apache-2.0
/// Whether a class has a member of a given name, of whatever kind, signature or access.
///
/// An optional function of a policy that does not have the expected signature would be passed over in silence; by its
/// name the concepts know that it was meant.
#pragma once

#include <type_traits>

namespace halfstep::member_name {

/// Inherits one name from two sides: it is ambiguous, and its address ill-formed, exactly when `P` has it too.
template <class P, class Name>
struct both : P, Name {};
template <class P>
concept may_be_a_base = std::is_class_v<P> && !std::is_final_v<P>;

struct has_validate {
    int validate;
};
struct has_flags {
    int flags;
};
struct has_flags_bits {
    int flags_bits;
};
struct has_clip {
    int clip;
};
struct has_initial {
    int initial;
};
struct has_event {
    int event;
};

template <class P>
concept validate = may_be_a_base<P> && !requires { &both<P, has_validate>::validate; };
template <class P>
concept flags = may_be_a_base<P> && !requires { &both<P, has_flags>::flags; };
template <class P>
concept flags_bits = may_be_a_base<P> && !requires { &both<P, has_flags_bits>::flags_bits; };
template <class P>
concept clip = may_be_a_base<P> && !requires { &both<P, has_clip>::clip; };
template <class P>
concept initial = may_be_a_base<P> && !requires { &both<P, has_initial>::initial; };
template <class P>
concept event = may_be_a_base<P> && !requires { &both<P, has_event>::event; };

}  // namespace halfstep::member_name
