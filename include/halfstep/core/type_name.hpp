// SPDX-License-Identifier: Apache-2.0
/// The name of a type, for messages at run time.
#pragma once

#include <string_view>

namespace halfstep {

/// `backbone` for `struct backbone;`, spelled as the compiler spells it, without namespaces.
template <class T>
constexpr std::string_view type_name() {
    std::string_view text = __PRETTY_FUNCTION__;
    const auto begin = text.find("T = ") + 4;
    text = text.substr(begin, text.find_first_of(";]", begin) - begin);
    const auto arguments = text.find('<');
    const auto scope = text.substr(0, arguments).rfind("::");
    return scope == std::string_view::npos ? text : text.substr(scope + 2);
}

}  // namespace halfstep
