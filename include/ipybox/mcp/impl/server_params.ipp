#pragma once

#include <ipybox/mcp/server_params.hpp>

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

namespace ipybox::mcp {
namespace detail {

/// Reads members of an entry; remembers the first that is not what it should be.
class entry_reader {
  public:
    explicit entry_reader(nlohmann::json const& entry) : entry_(entry) {}

    [[nodiscard]] bool has(char const* name) const { return entry_.contains(name) && !entry_[name].is_null(); }

    void read(char const* name, std::string& to) {
        if (!has(name)) return;
        if (entry_[name].is_string())
            to = entry_[name].get<std::string>();
        else
            complain(name, "a text");
    }

    void read(char const* name, std::vector<std::string>& to) {
        if (!has(name)) return;
        if (!entry_[name].is_array()) return complain(name, "a list of texts");
        for (auto const& element : entry_[name]) {
            if (!element.is_string()) return complain(name, "a list of texts");
            to.push_back(element.get<std::string>());
        }
    }

    void read(char const* name, std::map<std::string, std::string>& to) {
        if (!has(name)) return;
        if (!entry_[name].is_object()) return complain(name, "an object of texts");
        for (auto const& [key, value] : entry_[name].items()) {
            if (value.is_null()) continue; // VS Code: not set
            if (value.is_structured()) return complain(name, "an object of texts");
            to[key] = value.is_string() ? value.get<std::string>() : value.dump();
        }
    }

    [[nodiscard]] std::string const& complaint() const noexcept { return complaint_; }

  private:
    void complain(char const* name, std::string_view expected) {
        if (complaint_.empty()) complaint_.append("`").append(name).append("` is not ").append(expected);
    }

    nlohmann::json const& entry_;
    std::string complaint_;
};

} // namespace detail

IPYBOX_DECL result<server_params> read_server_params(nlohmann::json const& entry) {
    if (!entry.is_object()) return failure(errc::invalid_argument, "the entry is not an object");
    detail::entry_reader reader(entry);
    server_params params;
    if (reader.has("command")) {
        stdio_server server;
        reader.read("command", server.command);
        reader.read("args", server.args);
        reader.read("env", server.env);
        reader.read("envFile", server.env_file);
        reader.read("cwd", server.working_dir);
        if (server.command.empty() && reader.complaint().empty())
            return failure(errc::invalid_argument, "`command` is empty");
        params.server = std::move(server);
    } else {
        remote_server server;
        for (auto const* const name : {"url", "httpUrl", "serverUrl"}) reader.read(name, server.url);
        reader.read("headers", server.headers);
        if (server.url.empty() && reader.complaint().empty())
            return failure(errc::invalid_argument, "there is neither a `command` nor a `url`");
        params.server = std::move(server);
    }
    if (!reader.complaint().empty()) return failure(errc::invalid_argument, reader.complaint());
    return params;
}

} // namespace ipybox::mcp
