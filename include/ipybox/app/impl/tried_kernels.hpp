#pragma once

#include <ipybox/app/finding.hpp>
#include <ipybox/core/error.hpp>

#include <optional>
#include <string>

namespace ipybox::detail {

/// The report of a kernel's code about its interpreter.
struct interpreter_versions {
    std::string python;
    std::string ipykernel;
    std::string ipython;
    std::string pydantic; ///< empty: it has none
};

/// The outcome of all trials.
struct tried_kernels {
    finding_group group{"kernels", "Kernels: code runs in the sandbox"};
    std::optional<interpreter_versions> versions; ///< as the first kernel said
    std::optional<error> fault;                   ///< of the interpreter: no sandbox would help
};

} // namespace ipybox::detail
