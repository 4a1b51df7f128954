#pragma once

#include <ipybox/app/action_question.hpp>
#include <ipybox/mcp/start_memory.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// A server that a model wants to register, as it is now; the subject gets what decides about it.
template <class Box>
mcp::detail::server_preview preview_of(Box const& box, mcp::server_params const& params, approval_subject& subject) {
    auto const registry = box.mcp_registry();
    auto seen = registry ? registry->preview(subject.server, params) : mcp::detail::server_preview();
    subject.replaces = seen.replaces;
    subject.open_files = seen.names_open_files;
    subject.changed_files = !seen.changed.empty();
    return seen;
}

/// Registers it as it was seen.
template <class Box>
result<void> replace_in(Box const& box, std::string const& name, mcp::server_params params,
                        mcp::detail::file_memory seen) {
    auto const registry = box.mcp_registry();
    if (!registry) return failure(errc::not_running);
    return registry->replace(name, std::move(params), std::move(seen));
}

inline std::string paragraph_about(std::vector<std::filesystem::path> const& files) {
    constexpr std::size_t most_shown = 3;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(files.size(), most_shown); ++i) names.push_back(files[i].string());
    std::string sentence = "Attention: the Python code can change files that this program is started from, or takes "
                           "code from, now and later";
    if (files.size() > most_shown)
        sentence += ". There are " + std::to_string(files.size()) + ", of which some are shown";
    return question_paragraph(sentence + ":", names);
}

/// Tells the user what stands behind the parameters of a server: its program, the server that it replaces, and the
/// files that code can change though they decide what runs outside of the sandbox. The sandbox of a kernel that runs
/// protects no file that is named later.
inline std::string server_warning(mcp::detail::server_preview const& seen) {
    std::string text;
    auto const add = [&text](std::string const& paragraph) {
        text.append(text.empty() ? "" : "\n\n").append(paragraph);
    };
    if (!seen.program.empty()) add(question_paragraph("Its program is:", {seen.program.string()}));
    if (!seen.replaces.empty())
        add(question_paragraph("It replaces the server that has this name, which is started by:", {seen.replaces}));
    if (!seen.changed.empty()) add(question_paragraph("Attention: since it was approved, this is so:", {seen.changed}));
    if (!seen.open_files.empty()) add(paragraph_about(seen.open_files));
    return text;
}

} // namespace ipybox::detail
