#pragma once

#include <utility>

namespace ipybox::detail {

/**
 * \brief Makes an object for a static reference in a function: `static auto const& none = never_destroyed<json>();`
 * \details Static objects of the application, and threads, use the library until the program has ended. A static
 * object in a function is made at the first call, and would be destroyed before an older static object is.
 */
template <class T, class... Arguments>
[[nodiscard]] T& never_destroyed(Arguments&&... arguments) {
    return *new T(std::forward<Arguments>(arguments)...);
}

} // namespace ipybox::detail
