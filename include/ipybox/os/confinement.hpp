#pragma once

#include <ipybox/os/unique_fd.hpp>

#include <string>

namespace ipybox::os {

/**
 * \brief The restrictions that a program and all that it starts can never undo. `start_process` applies them right
 * before it runs.
 * \details It loses all capabilities, as root too: many of them lead past Landlock (CAP_SYS_ADMIN, CAP_PERFMON,
 * CAP_SYS_PTRACE, CAP_SYS_RAWIO, …). Set-user-ID programs run without the rights of their owners. Then it enters the
 * domain, and last its system calls are filtered.
 */
struct confinement {
    unique_fd domain;   ///< landlock_rules::release
    std::string filter; ///< of system calls, as seccomp(2) takes it: instructions of classic BPF
};

} // namespace ipybox::os
