#pragma once

#include <ipybox/app/action_question.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/os/lies_in.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ipybox::detail {

/// Tells the user that code can change what a server is started from, which runs outside of the sandbox; empty where it
/// cannot. The sandbox of a kernel that runs protects no file that is named later, but those that it hides.
inline std::string server_warning(mcp::server_params const& server, executor_options const& options) {
    constexpr std::size_t most_shown = 3;
    std::vector<std::string> names;
    std::size_t count = 0;
    for (auto const& file : mcp::detail::files_of(server).read_only) {
        auto const holds = [&file](std::filesystem::path const& path) { return os::lies_in(file, path); };
        if (!holds(options.working_dir) || std::ranges::any_of(options.sandbox.hidden, holds)) continue;
        if (++count <= most_shown) names.push_back(file.string());
    }
    if (count == 0) return {};
    std::string sentence = "Attention: the Python code can change files that this program is started from, or takes "
                           "code from, now and later";
    if (count > most_shown) sentence += ". There are " + std::to_string(count) + ", of which some are shown";
    return question_paragraph(sentence + ":", names);
}

} // namespace ipybox::detail
