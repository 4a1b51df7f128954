#pragma once

#include <cli/exit_code.hpp>
#include <cli/text_source.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>

namespace ipybox::cli {

enum class sandbox_choice { bubblewrap, none };

/// What `ipybox run` was asked for; see `ipybox run --help`.
struct run_options {
    text_source source;
    sandbox_choice sandbox = sandbox_choice::bubblewrap;
    std::optional<std::chrono::milliseconds> timeout;
    std::filesystem::path working_dir;
    std::filesystem::path images_dir;
    std::filesystem::path python;
    std::string kernel; ///< a kernelspec; empty: the forked IPython kernel
    bool keep_going = false;
    bool times = false;
    bool json = false;
};

/// Reads the command line. The program ends at once with an exit_code: help was asked for and printed, or an error was explained.
[[nodiscard]] std::variant<run_options, exit_code> read_command_line(int argc, char const* const* argv);

} // namespace ipybox::cli
