#include <ipybox/core/json_text.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/read_file.hpp>

#include <cli/client_setup.hpp>
#include <cli/json_edit.hpp>
#include <cli/output_file.hpp>
#include <cli/replace_file.hpp>
#include <cli/toml_edit.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::cli {
namespace {

using std::filesystem::path;

/// How a client is told of its servers.
struct known_client {
    enum class format { json, toml };

    std::string_view name;
    std::string_view title;
    std::string_view variable; ///< that names the directory of its configuration; empty: none
    std::string_view place;    ///< of that directory below the home directory
    std::string_view file;
    format how;
    std::string_view group; ///< the object or the tables with servers
    bool has_type;          ///< entries say "type": "stdio"
    std::string_view next;  ///< for its user to do
};

constexpr std::array<known_client, 5> clients{{
    {"claude", "Claude Code", "CLAUDE_CONFIG_DIR", "", ".claude.json", known_client::format::json, "mcpServers", true,
     "Start `claude` anew; /mcp shows the server."},
    {"claude-desktop", "Claude Desktop", "", ".config/Claude", "claude_desktop_config.json", known_client::format::json,
     "mcpServers", false, "Quit Claude Desktop and start it again."},
    {"codex", "Codex", "CODEX_HOME", ".codex", "config.toml", known_client::format::toml, "mcp_servers", false,
     "Start `codex` anew; /mcp shows the server."},
    {"cursor", "Cursor", "", ".cursor", "mcp.json", known_client::format::json, "mcpServers", false,
     "Turn the server on in Cursor's settings, Tools & MCP."},
    {"vscode", "VS Code", "", ".config/Code/User", "mcp.json", known_client::format::json, "servers", true,
     "Run the command \"MCP: List Servers\" in VS Code, and start it."},
}};

constexpr auto entry_name = "ipybox";

std::optional<path> set_directory(std::string_view variable) {
    if (variable.empty()) return std::nullopt;
    auto const* const set = std::getenv(std::string(variable).c_str());
    if (set == nullptr || *set == '\0') return std::nullopt;
    return path(set);
}

result<path> file_of_client(known_client const& its) {
    if (auto const set = set_directory(its.variable)) return *set / its.file;
    auto const home = set_directory("HOME");
    if (!home || !home->is_absolute())
        return failure(errc::invalid_argument, "HOME does not name your home directory, where " +
                                                   std::string(its.title) + " keeps its configuration");
    auto const configured = its.place.starts_with(".config/") ? set_directory("XDG_CONFIG_HOME") : std::nullopt;
    if (configured && configured->is_absolute()) return *configured / its.place.substr(8) / its.file;
    return *home / its.place / its.file;
}

/// The program as it is found by its name, where that is this one: an upgrade then changes nothing. Else its own path.
path own_program() {
    std::error_code failed;
    auto const self = std::filesystem::read_symlink("/proc/self/exe", failed);
    auto const* const search = std::getenv("PATH");
    for (std::string_view rest = search ? search : ""; !rest.empty();) {
        auto const directory = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
        auto const found = path(directory) / self.filename();
        if (found.is_absolute() && std::filesystem::equivalent(found, self, failed) && !failed) return found;
    }
    return self;
}

bool has_option(std::vector<std::string> const& arguments, std::string_view name) {
    return std::ranges::find(arguments, name) != arguments.end();
}

/// The arguments, with what the client needs.
std::vector<std::string> arguments_for(known_client const& its, std::vector<std::string> arguments) {
    // It gives up on calls after a minute.
    if (its.name == "claude-desktop" && !has_option(arguments, "--wait-seconds"))
        arguments.insert(arguments.end(), {"--wait-seconds", "50"});
    return arguments;
}

nlohmann::ordered_json json_entry(known_client const& its, client_setup const& wanted) {
    nlohmann::ordered_json entry;
    if (its.has_type) entry["type"] = "stdio";
    entry["command"] = own_program().string();
    entry["args"] = arguments_for(its, wanted.arguments);
    return entry;
}

toml_entries toml_entry(known_client const& its, client_setup const& wanted) {
    std::string args;
    for (auto const& word : arguments_for(its, wanted.arguments))
        args.append(args.empty() ? "[" : ", ").append(toml_string(word));
    return {{"command", toml_string(own_program().string())}, {"args", args + "]"}};
}

/// Calls of cells may take as long as they need.
toml_entries toml_defaults() { return {{"tool_timeout_sec", "600"}}; }

result<std::string> changed_text(known_client const& its, client_setup const& wanted, std::string const& text) {
    bool const installs = wanted.what == client_setup::work::install;
    if (its.how == known_client::format::toml)
        return installs ? with_toml_table(text, its.group, entry_name, toml_entry(its, wanted), toml_defaults())
                        : without_toml_table(text, its.group, entry_name);
    return installs ? with_json_member(text, its.group, entry_name, json_entry(its, wanted))
                    : without_json_member(text, its.group, entry_name);
}

/// A file with nothing but the entry: what a person adds.
std::string text_to_add(known_client const& its, client_setup const& wanted) {
    auto fresh = wanted;
    fresh.what = client_setup::work::install;
    return changed_text(its, fresh, "").value_or(std::string());
}

/// What is there, and whether there is a file.
result<std::optional<std::string>> text_of_client(path const& file) {
    constexpr std::size_t longest = std::size_t(64) << 20; // Claude Code keeps its history there
    std::error_code missing;
    if (!std::filesystem::exists(file, missing)) return std::optional<std::string>();
    auto text = os::read_regular_file(file, "reading " + file.string(), longest);
    if (!text) return failure(text);
    return std::optional(*std::move(text));
}

exit_code change_client(known_client const& its, client_setup const& wanted, output_file& out, output_file& err) {
    bool const installs = wanted.what == client_setup::work::install;
    auto const file = file_of_client(its);
    auto const fail = [&](std::string const& why) {
        auto text = "ipybox: " + why;
        if (file && installs) text += "; add this to " + file->string() + " yourself:\n\n" + text_to_add(its, wanted);
        err.write_lines(text);
        return exit_code::failed;
    };
    if (!file) return fail(file.error().text());
    auto const before = text_of_client(*file);
    if (!before) return fail(before.error().text());
    auto const after = changed_text(its, wanted, before->value_or(std::string()));
    if (!after) return fail(file->string() + ": " + after.error().text());
    if (*after == before->value_or(std::string())) {
        out.write_lines(file->string() + (installs ? " has the entry already" : " has no such entry"));
        return exit_code::ok;
    }
    if (wanted.is_trial) {
        out.write_lines(file->string() + (installs ? " would have this entry:\n\n" + text_to_add(its, wanted)
                                                   : " would lose its entry \"ipybox\""));
        return exit_code::ok;
    }
    auto const written = replace_file(*file, *before, *after);
    if (!written) return fail(written.error().text());
    std::string told = std::string(its.title) + (installs ? " starts ipybox now: " : " does not start ipybox now: ") +
                       file->string() + " was changed";
    if (!written->empty()) told += ", and " + written->string() + " is as it was";
    out.write_lines(told + "\n" + std::string(installs ? its.next : std::string_view("Restart it.")));
    return exit_code::ok;
}

} // namespace

std::vector<std::string> known_clients() {
    std::vector<std::string> names;
    for (auto const& each : clients) names.emplace_back(each.name);
    return names;
}

exit_code set_up_client(client_setup const& wanted) {
    output_file out(STDOUT_FILENO);
    output_file err(STDERR_FILENO);
    auto const found = std::ranges::find(clients, wanted.client, &known_client::name);
    return found == clients.end() ? exit_code::usage : change_client(*found, wanted, out, err);
}

} // namespace ipybox::cli
