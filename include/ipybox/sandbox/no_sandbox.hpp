#pragma once

#include <ipybox/sandbox/sandbox_policy.hpp>

#include <utility>

namespace ipybox {

/// No sandbox: the kernel may do what the user may do. Never a default; it has to be named.
struct no_sandbox {
    /// It confines nothing.
    static constexpr bool confines = false;

    /// The program as it is.
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const { return result<launch_spec>(std::move(spec)); }
};

static_assert(sandbox_policy<no_sandbox>);

} // namespace ipybox
