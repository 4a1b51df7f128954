#pragma once

#include <ipybox/mcp/impl/characters.hpp>
#include <ipybox/mcp/impl/guarded.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/value_names.hpp>
#include <ipybox/mcp/variables.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp {
namespace detail {

/// Puts variables into one text after the other, and remembers what could not be put.
class variable_writer {
  public:
    variable_writer(variable_lookup const& lookup, std::filesystem::path const& project, value_names* seen)
        : lookup_(lookup), project_(project), seen_(seen) {}

    void write(std::string& text) {
        std::string out;
        std::string_view rest = text;
        for (;;) {
            auto const begin = rest.find("${");
            auto const end = begin == std::string_view::npos ? begin : rest.find('}', begin);
            if (end == std::string_view::npos) break;
            out.append(rest.substr(0, begin));
            out.append(value_of(rest.substr(begin, end + 1 - begin)));
            rest.remove_prefix(end + 1);
        }
        text = out.append(rest);
    }

    /// The same for what may be a path: a shell would have replaced `~` before the program sees it.
    void write_path(std::string& text) {
        bool const is_at_home = text == "~" || text.starts_with("~/");
        auto const home = is_at_home ? value_of("${userHome}") : std::string();
        if (is_at_home) text.erase(0, 1);
        write(text);
        text.insert(0, home);
    }

    [[nodiscard]] std::optional<error> failure() const {
        if (!strange_.empty())
            return error(errc::variable_not_set,
                         "uses ${" + strange_ +
                             "…}, which only the editor that the entry was written for can ask for; name a variable of "
                             "the environment in its place, as ${API_KEY}");
        if (missing_.empty()) return std::nullopt;
        std::string names;
        for (auto const& name : missing_) names.append(names.empty() ? "" : ", ").append(name);
        auto const advice = "; set " + std::string(missing_.size() > 1 ? "them" : "it") + ", or give a default: ${" +
                            missing_.front() + ":-default}";
        return error(errc::variable_not_set, (missing_.size() > 1 ? "needs variables that are not set: "
                                                                  : "needs a variable that is not set: ") +
                                                 names + advice);
    }

  private:
    /// The value of `${…}`; itself if it is not a variable.
    std::string value_of(std::string_view reference) {
        auto inside = reference.substr(2, reference.size() - 3);
        if (inside == "/" || inside == "pathSeparator") return "/";
        if (inside == "userHome") inside = "HOME";
        if (!project_.empty() && inside == "workspaceFolder") return project_.string();
        if (!project_.empty() && inside == "workspaceFolderBasename") return project_.filename().string();
        if (inside.starts_with("env:")) inside.remove_prefix(4);
        auto const name = inside.substr(
            0, static_cast<std::size_t>(std::find_if_not(inside.begin(), inside.end(), is_word) - inside.begin()));
        auto const behind = inside.substr(name.size());
        if (name.empty() || is_digit(name.front())) return std::string(reference);
        if (!behind.empty() && !behind.starts_with(":-")) {
            if (!behind.starts_with(':')) return std::string(reference);
            if (strange_.empty()) strange_ = std::string(name) + ":";
            return {};
        }
        auto value = lookup_(std::string(name));
        // The home directory is no secret, and its name in the place of each path would be of no help.
        if (value && seen_ && name != "HOME") seen_->add(std::string(name), *value);
        if (!behind.empty()) return value && !value->empty() ? *value : std::string(behind.substr(2));
        if (value) return *std::move(value);
        if (std::find(missing_.begin(), missing_.end(), name) == missing_.end()) missing_.emplace_back(name);
        return {};
    }

    variable_lookup const& lookup_;
    std::filesystem::path const& project_;
    value_names* seen_;
    std::vector<std::string> missing_;
    std::string strange_;
};

inline void write_all(variable_writer& writer, server_params& s) {
    for (auto* const text : {&s.command, &s.env_file, &s.working_dir}) writer.write_path(*text);
    for (auto& text : s.args) writer.write_path(text);
    writer.write(s.url);
    writer.write_path(s.authorities);
    for (auto& [name, text] : s.env) writer.write(text);
    for (auto& [name, text] : s.headers) writer.write(text);
}

} // namespace detail

IPYBOX_DECL result<server_params> detail::put_variables(server_params params, variable_lookup const& lookup,
                                                        os::host_environment const& host, value_names* seen) {
    variable_lookup const from_host = [&host](std::string const& name) { return host.find(name); };
    detail::variable_writer writer(lookup ? lookup : from_host, params.project, seen);
    try {
        detail::write_all(writer, params);
    } catch (...) {
        return failure(errc::invalid_argument,
                       "cannot be started: the look-up of variables threw: " + detail::thrown_text());
    }
    if (auto failed = writer.failure()) return failure(std::move(*failed));
    return params;
}

} // namespace ipybox::mcp
