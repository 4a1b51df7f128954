#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/fwd.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/sandbox_limits.hpp>
#include <ipybox/rules/approval_rules.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {

/**
 * \brief How an executor works: its working directory, and options in groups.
 * \details Members, and those of the groups, are given in this order; new ones come at the end:
 * \code
 * executor box({.working_dir = "work", .kernel = {.preload = {"numpy"}}, .approval = {.shell_cmds = true}});
 * \endcode
 */
struct executor_options {
    /// The directory in which the code runs and may write. It must exist. The kernel returns to it after each cell.
    /// Empty: the current directory, or that of the executor's runtime, and cells may leave it.
    std::filesystem::path working_dir = {};

    /// The kernel: its interpreter and environment, its start and its end.
    struct kernel_options {
        /// The interpreter of the kernel. Empty: IPYBOX_PYTHON, VIRTUAL_ENV, a `.venv` in or above the current
        /// directory, `python3` on PATH.
        std::filesystem::path python = {};

        /// Environment of the kernel besides PATH, HOME, LANG, LC_* and TZ, which it inherits; nothing else is.
        environment env = {};

        /// Variables that others may have chosen, as those of a file where code can write. They go behind `env`, to
        /// the kernel alone: programs that start outside of the sandbox, and the supervisor, do not get them. Needs
        /// `socketpair_transport`.
        environment untrusted_env = {};

        /// `sys.argv` of the code. A first one that names a file of Python code is also `__file__`, and its folder the
        /// first one that modules are imported from. Needs `socketpair_transport`. Empty: `-c`.
        std::vector<std::string> argv = {};

        /// Modules that the supervisor imports before it forks kernels, so that all share them ("numpy",
        /// "matplotlib.pyplot"). Executors of a `runtime` have those of its options, and are refused others.
        std::vector<std::string> preload = {};

        /// The layer for installed packages (`install_package`, `%pip install`). The code imports them behind those of
        /// the interpreter. Executors of a `runtime` have that of its options, and are refused another one. None:
        /// `%pip` runs in the sandbox of the code.
        std::shared_ptr<package_layer const> packages = nullptr;

        /// Whether a cell that goes to another directory (`%cd`, `os.chdir`) leaves the next one there. False: the
        /// kernel returns after the cell, and says so on stdout. None: only without a `working_dir`.
        std::optional<bool> keep_cwd = std::nullopt;

        /// Start a fresh kernel for the call after one died, and mark its result. Otherwise calls fail until `reset()`.
        bool restart_dead = false;

        /// Bound on starting a kernel; before it, a script in front of the interpreter (pyenv's shims) has as long to
        /// say which one it runs.
        std::chrono::milliseconds init_timeout = std::chrono::seconds(30);

        /// How long code may go on after it was told of an interrupt before its kernel is killed; code that cannot be
        /// told, as in a long call into C, five times as long. Rendering the error that ended it does not count.
        std::chrono::milliseconds interrupt_grace = std::chrono::seconds(1);

        /// How long a kernel may take to end by itself: to flush files, to run `atexit` functions, to wait for
        /// threads. Then it is killed. 0: it is killed at once.
        std::chrono::milliseconds end_grace = std::chrono::seconds(1);

        /// Time budget of `get` and `put`, from the moment the kernel is asked: classes of the code may take part in
        /// making JSON of a value.
        std::chrono::milliseconds value_timeout = std::chrono::seconds(30);

        /// The directory in which libraries of the code keep what they have fetched or computed (XDG_CACHE_HOME, and
        /// the variables of libraries that have their own). A relative one begins at the working directory. One that
        /// lies elsewhere is new or has the mark of earlier sessions: nothing of the application is to read it. Those
        /// of a runtime's executors lie in their working directories. Empty: a private one where code cannot write to
        /// the user's. Needs `socketpair_transport`.
        std::filesystem::path cache_dir = {};
    };
    /// Options of the kernel.
    kernel_options kernel = {};

    /// The sandbox: parts of the system and files that the code gets, and limits on what it takes.
    struct sandbox_options {
        /// Parts of the system that the sandbox and `require_shell_escape` leave open; otherwise they close them. The
        /// sandbox of a `runtime` leaves open what its options say.
        std::vector<system_access> allow = {};

        /// Limits on the memory, processes and files of the code. Executors of a `runtime` have those of its options,
        /// and are refused others.
        sandbox_limits limits = {};

        /// Files and directories that the code must not write to, wherever they lie: what decides about actions, or
        /// runs outside of the sandbox. The code must not make those that do not exist either: in a writable directory
        /// an empty file takes the place of such a path, or an empty directory where it ends with a slash (not in
        /// landlock_sandbox). The interpreter and its environment, and the running program, are among them by
        /// themselves.
        std::vector<std::filesystem::path> read_only = {};

        /// Files and directories that the code must not read: secrets. A working directory in one of them stays open.
        /// Those that do not exist are as in `read_only`.
        std::vector<std::filesystem::path> hidden = {};
    };
    /// Options of the sandbox.
    sandbox_options sandbox = {};

    /// The approval of actions, besides the approval policy: the actions that are asked about, and the rules and
    /// limits before a question.
    struct approval_options {
        /// Ask before a tool is called. False: calls are accepted, unless a rule denies them.
        bool tool_calls = true;

        /// Ask before a shell command (`!ls`, `%%bash`, …) is run; needs `socketpair_transport`. False: commands are
        /// accepted, unless a rule denies them, and the sandbox is what holds them. Installations (`%pip`) are asked
        /// about while one of the two is on.
        bool shell_cmds = false;

        /// Let the code start programs by shell commands alone: every other way is closed by the operating system.
        /// Needs `socketpair_transport`, x86-64 or ARM64, and Linux 5.13 (seccomp and Landlock).
        bool require_shell_escape = false;

        /// How long each request may wait for its decision; then it is rejected. None: until its cell ends, so that
        /// code waits for ever where a reader of `stream()` keeps a request and forgets it.
        std::optional<std::chrono::milliseconds> timeout = std::chrono::hours(1);

        /// How long, in all, the timeout of one execution may stand still while decisions are waited for.
        std::chrono::milliseconds longest_pause = std::chrono::hours(1);

        /// How many actions one cell may ask for, of all kinds. None: no limit.
        std::optional<std::uint64_t> calls_per_cell = std::nullopt;

        /// The treatment of a rejected action that its cell asks for again. A decision may say `ask` where this says
        /// `reject`.
        decision::when_repeated repeated = decision::when_repeated::reject;

        /// Rules that accept or reject without asking. As they are made, there are none. Copies share what was read.
        approval_rules rules = {};

        /// The log that records every request, decision and outcome; executors may share one.
        std::shared_ptr<audit_log> audit = nullptr;

        /// The name of this session in that log, which tells executors apart that share it. Empty: its requests name
        /// none.
        std::string audit_session = {};
    };
    /// Options of approvals.
    approval_options approval = {};

    /// The output of executions: files, and bounds on what is kept.
    struct output_options {
        /// The directory for PNG images; made when the first one comes. Empty: `images` in the current directory.
        std::filesystem::path images_dir = {};

        /// Bytes of output that one execution keeps in memory. Text beyond it has its middle moved to a file, displays
        /// go to files of their own.
        std::size_t max_memory = std::size_t(128) << 20;

        /// The directory in which such files are made, and stay. Empty: the system's temporary directory; they are
        /// removed when the executor is destroyed.
        std::filesystem::path spill_dir = {};

        /// How many bytes of files one execution may write. Text beyond it has the beginning in its file.
        std::uint64_t max_spill = std::uint64_t(1) << 30;

        /// How many files one execution may write: images, and what is beyond `max_memory`. Further files are left out
        /// and counted in the result.
        std::size_t max_files = 1000;
    };
    /// Options of the output.
    output_options output = {};

    /// MCP servers: how they are reached, and a registry that executors share.
    struct mcp_options {
        /// How MCP servers are reached, which variables their parameters see, and the handler of changed tools. None:
        /// child processes, the environment, no handler.
        std::shared_ptr<ipybox::mcp::registry_options const> options = nullptr;

        /// The MCP servers, where several executors share them: each is started once, and ends with the registry. Its
        /// own executor has to run while code calls tools. None: servers of its own, as `options` says.
        std::shared_ptr<ipybox::mcp::server_registry> registry = nullptr;
    };
    /// Options of MCP servers.
    mcp_options mcp = {};
};

} // namespace ipybox
