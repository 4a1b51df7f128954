#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/file_identity.hpp>
#include <ipybox/os/system_access.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {

struct sandbox_config;

namespace os {
class closed_files_finder;
struct confinement;
class host_programs;
} // namespace os

using environment = std::map<std::string, std::string>;

/**
 * \brief The program that is to be started, and its needs: a plain value that sandbox policies transform.
 * \details A policy puts itself around `argv`; the paths say what the program must be able to reach from inside.
 */
struct launch_spec {
    /**
     * \brief How the kernels of one sandbox are kept apart: what each of them has anew, and what they share.
     * \details A sandbox policy says so for `keeps_kernels_apart`. All paths are absolute and as they are inside.
     */
    struct kernel_walls {
        /// The working directories of kernels lie in it; each kernel sees its own alone.
        std::filesystem::path workspace;
        /// Directories of which each kernel has empty ones.
        std::vector<std::filesystem::path> private_directories = {};
        /// Paths in one of these directories that all kernels share.
        std::vector<std::filesystem::path> kept = {};
        /// Bytes of each private directory; 0: what the system allows.
        std::uint64_t private_size = 0;
        /// Finds the files in a kernel's working directory that it must not write to; none: there are none.
        std::shared_ptr<os::closed_files_finder const> closed = {};
    };

    std::vector<std::string> argv;                    ///< program (absolute path) and arguments
    environment env;                                  ///< the whole environment, nothing is inherited
    std::filesystem::path working_dir;                ///< absolute; also writable
    std::vector<std::filesystem::path> writable = {}; ///< further absolute paths that are written to
    std::vector<std::filesystem::path> readable =
        {};             ///< absolute paths that must be seen even where others are hidden (interpreter, packages)
    int control_fd = 3; ///< number of the control descriptor inside; a policy may set another

    /// Absolute paths that the program must not write to, wherever they lie: what decides about actions, or runs
    /// outside. One that does not exist must not be made either: in a writable directory bubblewrap_sandbox and
    /// srt_sandbox put an empty file there, or an empty directory for a path that ends with a slash.
    std::vector<std::filesystem::path> read_only = {};

    /// Absolute paths of files and directories that the program must not read either: secrets. Paths
    /// in them that the program needs, as its working directory, stay open. Those that do not exist are as in
    /// `read_only`.
    std::vector<std::filesystem::path> hidden = {};

    /// The parts of the system that the program needs, and a policy would close.
    std::vector<system_access> allow = {};

    /// Whether the program becomes the first process of a pid namespace, within a user namespace of its own: with it
    /// the system ends all others there.
    bool first_in_namespace = false;

    /// Whether the program is to end with the thread that starts it, in any way that one ends: for starters that have
    /// one thread.
    bool ends_with_starter = false;

    /// Whether the program keeps the kernels that it forks apart, by namespaces within the sandbox. A policy that has
    /// room for that fills `walls`; the start fails where none does.
    bool keeps_kernels_apart = false;
    /// The walls between the kernels of a runtime; none: no walls.
    std::optional<kernel_walls> walls = {};

    /// Variables that the sandbox sets inside or takes away: kernels and commands have them as the program has them, or
    /// not at all. A policy adds its own to those that are there.
    std::vector<std::string> sandbox_variables = {};

    /// Directories in which code can write and make files, where they are not mounted read-only inside. A policy that
    /// confines code names them: nothing in them is a program that a name of PATH stands for. Absolute and without
    /// links.
    std::vector<std::filesystem::path> changeable = {};

    /// Directories that are the sandbox's own, empty at its start, where the host has others of these names. A policy
    /// names them, so that a kernel can say why a file of the host is missing there.
    std::vector<std::filesystem::path> private_directories = {};

    /// Data that the started program can read, by the number of the descriptor: for what stands in front of it, as
    /// `bwrap`.
    std::map<int, std::string> inputs = {};

    /// The configuration whose hosts the program may reach by name, set by a policy that leaves it no network of its
    /// own: the library serves them. None: nothing is to be served.
    std::shared_ptr<sandbox_config const> network = {};

    /// Nodes of devices that the program uses, and whose modes, owners and times it must not change: a policy names
    /// them where the program has the rights of their owner. They are so as far as the system lets the application
    /// mount.
    std::vector<std::string> read_only_devices = {};

    /// Confines the program right before it runs. None: it is not confined.
    std::shared_ptr<os::confinement const> confinement = {};

    /// Files that the program has to find by these paths inside, or else was put into another sandbox than was meant: a
    /// directory may have been exchanged for a link between the policy's look at it and its mount. A supervisor looks
    /// before it does anything else.
    std::vector<os::file_identity> places = {};

    /// The environment of the host and its programs, as they were when the executor was made: a policy looks for its
    /// own program there. None: it reads the environment itself.
    std::shared_ptr<os::host_programs const> host = {};

    /// Objects that have to stay as long as the program runs.
    std::shared_ptr<void const> keeps = {};
};

} // namespace ipybox
