#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
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
            if (element.is_structured() || element.is_null()) return complain(name, "a list of texts");
            to.push_back(element.is_string() ? element.get<std::string>() : json_text(element)); // 8080, true
        }
    }

    void read(char const* name, std::map<std::string, std::string>& to) {
        if (!has(name)) return;
        if (!entry_[name].is_object()) return complain(name, "an object of texts");
        for (auto const& [key, value] : entry_[name].items()) {
            if (value.is_null()) continue; // VS Code: not set
            if (value.is_structured()) return complain(name, "an object of texts");
            to[key] = value.is_string() ? value.get<std::string>() : json_text(value);
        }
    }

    /// Seconds as Cline has them, or milliseconds as Gemini has them: a wait is of an hour at most, and of 3.6 s at
    /// least.
    void read(char const* name, std::optional<std::chrono::milliseconds>& to) {
        constexpr double most_seconds = 3600;
        constexpr double longest = 1e11;
        if (!has(name)) return;
        auto const& said = entry_[name];
        auto const value = said.is_string() ? ipybox::detail::parse_json(said.get_ref<std::string const&>()) : said;
        auto const number = value.is_number() ? value.get<double>() : 0;
        if (!(number > 0) || number > longest) return complain(name, "a number above 0");
        to = std::chrono::milliseconds(std::llround(number <= most_seconds ? number * 1000 : number));
    }

    void read_seconds(char const* name, std::optional<std::chrono::milliseconds>& to) {
        constexpr double longest = 1e8;
        if (!has(name)) return;
        auto const& said = entry_[name];
        auto const value = said.is_string() ? ipybox::detail::parse_json(said.get_ref<std::string const&>()) : said;
        auto const seconds = value.is_number() ? value.get<double>() : 0;
        if (!(seconds > 0) || seconds > longest) return complain(name, "a number of seconds above 0");
        to = std::chrono::milliseconds(std::llround(std::ceil(seconds * 1000)));
    }

    void read(char const* name, server_params::negotiation& to) {
        using enum server_params::negotiation;
        if (!has(name)) return;
        for (auto const& [word, meant] :
             {std::pair{"initialize_first", initialize_first}, std::pair{"discover_first", discover_first},
              std::pair{"handshake_only", handshake_only}, std::pair{"stateless_only", stateless_only}})
            if (entry_[name] == word) return void(to = meant);
        complain(name, "initialize_first, discover_first, handshake_only or stateless_only");
    }

    /// As Claude, Cline, Roo and others name them. A type that editors alone know is no reason to leave a server out.
    void read(char const* name, server_params::transport& to) {
        if (!has(name)) return;
        auto const& type = entry_[name];
        for (auto const* const http : {"http", "streamable-http", "streamable_http", "streamableHttp"})
            if (type == http) to = server_params::transport::streamable_http;
        if (type == "sse") to = server_params::transport::sse;
        if (type == "ws") complain(name, "http or sse: WebSocket is not spoken");
    }

    void read(char const* name, std::optional<any_sandbox>& to) {
        if (!has(name) || entry_[name] == false) return;
        if (entry_[name] == true) return void(to = bubblewrap_sandbox());
        if (!entry_[name].is_object()) return complain(name, "a sandbox's configuration, true or false");
        auto config = sandbox_config::parse(json_text(entry_[name]), name);
        if (config)
            to = bubblewrap_sandbox(*std::move(config));
        else if (complaint_.empty())
            complaint_ = config.error().text();
    }

    [[nodiscard]] std::string const& complaint() const noexcept { return complaint_; }

  private:
    void complain(char const* name, std::string_view expected) {
        if (complaint_.empty()) complaint_.append("`").append(name).append("` is not ").append(expected);
    }

    nlohmann::json const& entry_;
    std::string complaint_;
};

/// For the error of a misspelt name: "; its members are `comand`, `args`".
inline std::string members_in_words(nlohmann::json const& entry) {
    constexpr std::size_t most = 10;
    std::string words;
    std::size_t count = 0;
    for (auto const& [name, value] : entry.items()) {
        if (++count > most) return words + ", …";
        words.append(words.empty() ? "; its members are `" : ", `")
            .append(name.substr(0, whole_characters(name, 40)))
            .append("`");
    }
    return words;
}

} // namespace detail

IPYBOX_DECL void detail::set_timeouts(server_params& params, server_timeouts const& given) {
    if (given.tool) params.call_timeout = params.list_timeout = *given.tool;
    if (!given.connect) return;
    params.connect_timeout = *given.connect;
    params.list_timeout = std::max(params.list_timeout, *given.connect);
}

namespace detail {

/// Why a program cannot be started with these texts, or with others than those that were read; empty: it can.
inline std::string unusable_texts(server_params const& params) {
    auto const has_end = [](std::string const& text) { return text.find('\0') != std::string::npos; };
    bool ends = has_end(params.command) || has_end(params.env_file) || has_end(params.working_dir) ||
                std::ranges::any_of(params.args, has_end);
    for (auto const& [name, value] : params.env) {
        if (name.empty() || name.find('=') != std::string::npos) return "`env` has a name that no variable can have";
        ends = ends || has_end(name) || has_end(value);
    }
    return ends ? "a text has a NUL in it, where programs take it to end" : "";
}

} // namespace detail

IPYBOX_DECL result<server_params> server_params::read(nlohmann::json const& entry) {
    if (!entry.is_object()) return failure(errc::invalid_argument, "the entry is not an object");
    detail::entry_reader reader(entry);
    server_params params;
    if (reader.has("command")) {
        reader.read("command", params.command);
        reader.read("args", params.args);
        reader.read("env", params.env);
        reader.read("envFile", params.env_file);
        reader.read("cwd", params.working_dir);
        reader.read("sandbox", params.sandbox);
        if (params.command.empty() && reader.complaint().empty())
            return failure(errc::invalid_argument, "`command` is empty");
    } else {
        for (auto const* const name : {"url", "httpUrl", "serverUrl"}) reader.read(name, params.url);
        reader.read("headers", params.headers);
        reader.read("type", params.reached_by);
        reader.read("ca_file", params.authorities);
        if (params.url.empty() && reader.complaint().empty())
            return failure(errc::invalid_argument,
                           "there is neither a `command` nor a `url`" + detail::members_in_words(entry));
    }
    server_timeouts timeouts;
    reader.read("timeout", timeouts.tool);
    for (auto const* const name : {"startup_timeout_sec", "connect_timeout"})
        reader.read_seconds(name, timeouts.connect);
    reader.read("negotiation", params.versions);
    if (!reader.complaint().empty()) return failure(errc::invalid_argument, reader.complaint());
    if (auto const why = detail::unusable_texts(params); !why.empty()) return failure(errc::invalid_argument, why);
    detail::set_timeouts(params, timeouts);
    return params;
}

} // namespace ipybox::mcp
