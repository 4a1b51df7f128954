#pragma once

#include <ipybox/app/kept_servers.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/sha256.hpp>
#include <ipybox/os/directory.hpp>
#include <ipybox/os/new_file.hpp>
#include <ipybox/os/read_file.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

namespace ipybox {
namespace detail {

inline error no_list_of_servers(std::filesystem::path const& file) {
    return error(errc::invalid_argument,
                 file.string() + " cannot be read as a list of registered MCP servers: remove it");
}

/// One of them as it is written; none where it is not.
inline std::optional<kept_server> kept_server_in(nlohmann::ordered_json const& written) {
    if (!written.is_object() || !written.contains("entry") || !written.contains("files")) return std::nullopt;
    auto const& files = written.at("files");
    auto memory = files.is_string() ? mcp::detail::file_memory::parse(files.get<std::string>()) : std::nullopt;
    if (!memory || !written.at("entry").is_object()) return std::nullopt;
    return kept_server{written.at("entry"), written.value("always", nlohmann::ordered_json(false)) == true,
                       *std::move(memory)};
}

} // namespace detail

IPYBOX_DECL std::filesystem::path kept_servers::directory(os::host_environment const& host) {
    auto const state = host.state_directory();
    return state.empty() ? std::filesystem::path() : state / "ipybox/servers";
}

IPYBOX_DECL result<kept_servers> kept_servers::open(std::filesystem::path const& directory,
                                                    std::filesystem::path const& workspace) {
    std::error_code failed;
    auto const real = std::filesystem::weakly_canonical(workspace, failed).string();
    std::filesystem::create_directories(directory.parent_path(), failed);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        return failure(ipybox::detail::system_failure("making " + directory.string(), errno));
    kept_servers opened(directory / (sha256_hex(real) + ".json"), real);
    if (auto done = opened.read(); !done) return failure(done);
    return opened;
}

IPYBOX_DECL result<void> kept_servers::read() {
    servers_.clear();
    if (::access(file_.c_str(), F_OK) != 0) return {};
    auto const text = os::read_regular_file(file_, "reading " + file_.string(), largest_file);
    if (!text) return failure(text.error());
    auto const document = detail::parse_ordered_json(*text);
    auto const servers = document.is_object() ? document.find("servers") : document.end();
    if (!document.is_object() || servers == document.end() || !servers->is_object())
        return failure(detail::no_list_of_servers(file_));
    for (auto const& [name, written] : servers->items()) {
        auto server = detail::kept_server_in(written);
        if (!server) return failure(detail::no_list_of_servers(file_));
        servers_.emplace(name, *std::move(server));
    }
    return {};
}

IPYBOX_DECL result<void> kept_servers::write() const {
    auto servers = nlohmann::ordered_json::object();
    for (auto const& [name, server] : servers_)
        servers[name] = {{"entry", server.entry}, {"always", server.always}, {"files", server.files.text()}};
    auto const text = json_text(nlohmann::ordered_json{{"workspace", workspace_}, {"servers", servers}});
    auto const directory = os::directory::open(file_.parent_path());
    if (!directory) return failure(directory.error());
    auto const made = os::make_file(*directory, ".", ".tmp");
    if (!made) return failure(made.error());
    auto done = os::write_all(*made, text + "\n");
    if (done && (::fsync(made->descriptor.get()) != 0 || ::rename(made->path.c_str(), file_.c_str()) != 0))
        done = failure(ipybox::detail::system_failure("writing " + file_.string(), errno));
    if (!done) ::unlink(made->path.c_str());
    return done;
}

IPYBOX_DECL result<void> kept_servers::keep(std::string const& name, kept_server server) {
    (void)read(); // another process may have kept others meanwhile
    if (servers_.size() >= most && !servers_.contains(name))
        return failure(errc::invalid_argument, std::to_string(most) + " MCP servers are kept in " + file_.string() +
                                                   ", and no more can be: remove some of them");
    servers_[name] = std::move(server);
    return write();
}

} // namespace ipybox
