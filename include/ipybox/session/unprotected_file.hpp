#pragma once

#include <ipybox/core/config.hpp>

#include <filesystem>
#include <string>

namespace ipybox::detail {

/// A file or directory that decides about actions, or runs on the host, and that code in the kernel can change all the
/// same.
struct unprotected_file {
    /// The means that protects a file that code in the kernel can change.
    enum class protection {
        next_kernel,     ///< it was named after the sandbox had been started: `reset()` starts another one
        runtime_options, ///< the same in a sandbox that executors share: `runtime::options::sandbox.read_only`
        other_directory  ///< no sandbox with this working directory can: the file is that directory, or is reached
                         ///< through a link in it
    };

    /// The file or directory.
    std::filesystem::path path;
    std::string
        server; ///< the MCP server that is started from it; empty: it is one of `executor_options::sandbox.read_only`
    /// The means that protects it.
    protection cure;

    /// A sentence that says what can happen, and what to do.
    [[nodiscard]] std::string text() const;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/unprotected_file.ipp>
#endif
