#pragma once

#include <ipybox/app/action_question.hpp>
#include <ipybox/app/impl/server_entry.hpp>
#include <ipybox/app/impl/server_registration.hpp>
#include <ipybox/app/impl/text_answer.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/codegen/generated_sources.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/mcp/start_memory.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace ipybox::detail {

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
inline std::string notice_about(mcp::detail::server_preview const& seen) {
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

IPYBOX_DECL result<server_registration> server_registration::read(std::string const& name,
                                                                  nlohmann::ordered_json const& given,
                                                                  std::filesystem::path const& workspace,
                                                                  mcp::server_timeouts const& timeouts) {
    if (auto named = check_new_server(name); !named) return failure(named);
    auto const entry = read_server_entry(given);
    if (!entry) return failure(entry.error());
    auto params = mcp::server_params::read(nlohmann::json(*entry));
    if (!params) return failure(errc::invalid_argument, "server_params: " + params.error().text());
    if (params->is_remote())
        return failure(errc::invalid_argument,
                       "server_params: servers that are reached over HTTP cannot be registered; give `command`");
    if (params->working_dir.empty()) params->working_dir = workspace.string();
    mcp::detail::set_timeouts(*params, timeouts);
    server_registration wanted{*std::move(params)};
    wanted.subject.kind = approval_subject::action::server;
    wanted.subject.server = name;
    wanted.subject.arguments = std::make_shared<nlohmann::ordered_json const>(*entry);
    if (auto const length = safe_text::of(wanted.subject).characters; length > longest_server_entry)
        return failure(errc::invalid_argument, "server_params: the entry has " + std::to_string(length) +
                                                   " characters, and can have " + std::to_string(longest_server_entry) +
                                                   ", so that people can read all of it; put what is long into a file "
                                                   "that its arguments name");
    return wanted;
}

IPYBOX_DECL void server_registration::look_at(mcp::server_registry const& registry,
                                              std::optional<mcp::detail::file_memory> const& before) {
    auto seen = registry.preview(subject.server, params, before);
    subject.replaces = seen.replaces;
    subject.open_files = seen.names_open_files;
    subject.changed_files = !seen.changed.empty() || !seen.memory.is_complete(); // what is left out may have changed
    subject.notice = notice_about(seen);
    files = std::move(seen.memory);
}

IPYBOX_DECL mcp::call_result answer_with_tools(codegen::generated_sources const& made) {
    std::string names;
    for (auto const& module : made.modules) names.append(names.empty() ? "" : "\n").append(module);
    auto answer = text_answer(names.empty() ? "[the server has no tools]" : std::move(names));
    nlohmann::ordered_json const value{{"tools", made.modules}};
    structure(answer, value);
    return answer;
}

} // namespace ipybox::detail
