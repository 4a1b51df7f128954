#pragma once

#include <ipybox/core/error.hpp>

#include <tl/expected.hpp>

#include <string>
#include <utility>

namespace ipybox {

/// A value, or the error why there is none. The type that every operation of the library returns or completes with.
template <class T>
using result = tl::expected<T, error>;

/// Makes the failing side of any result: `return failure(errc::invalid_argument, "…");`
[[nodiscard]] inline tl::unexpected<error> failure(errc code, std::string text = {}) {
    return tl::unexpected<error>(error(code, std::move(text)));
}

/// Passes an error on: `if (!r) return failure(r);`
template <class T>
[[nodiscard]] tl::unexpected<error> failure(result<T>& failed) {
    return tl::unexpected<error>(std::move(failed).error());
}

[[nodiscard]] inline tl::unexpected<error> failure(error e) { return tl::unexpected<error>(std::move(e)); }

} // namespace ipybox
