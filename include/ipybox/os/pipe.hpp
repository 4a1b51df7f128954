#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/unique_fd.hpp>

namespace ipybox::os {

/// The two ends of a pipe, both closed by exec and kept out of forks.
struct pipe_ends {
    unique_fd reader;
    unique_fd writer;
};

/// \par Errors errc::io_error
[[nodiscard]] result<pipe_ends> make_pipe();

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/pipe.ipp>
#endif
