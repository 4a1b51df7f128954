#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/jupyter/connection_info.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/os/write_all.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace ipybox::jupyter {
namespace detail {

inline tl::unexpected<error> bad_connection(std::string what) {
    return failure(errc::protocol_error, "the connection file is not usable: " + std::move(what));
}

/// A string member, or the fallback where it is absent. None when it is no string.
inline result<std::string> text_member(json const& object, char const* name, char const* fallback) {
    auto const found = object.find(name);
    if (found == object.end() || found->is_null()) return std::string(fallback);
    if (!found->is_string()) return bad_connection(std::string(name) + " is no string");
    return found->get<std::string>();
}

/// Characters in the host part of a ZeroMQ address: names, IPv4, IPv6 with a zone.
inline bool is_host(std::string_view ip) {
    auto const fits = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == ':' ||
               c == '-' || c == '_' || c == '%';
    };
    return !ip.empty() && std::all_of(ip.begin(), ip.end(), fits);
}

} // namespace detail

IPYBOX_DECL int connection_info::port(message::channel c) const noexcept {
    switch (c) {
    case message::channel::shell: return shell_port;
    case message::channel::iopub: return iopub_port;
    case message::channel::stdin_: return stdin_port;
    case message::channel::control: return control_port;
    }
    return 0;
}

IPYBOX_DECL std::filesystem::path connection_info::socket_path(int port) const {
    return ip + "-" + std::to_string(port);
}

IPYBOX_DECL std::string connection_info::address(message::channel c) const {
    if (protocol == socket_protocol::ipc) return "ipc://" + socket_path(port(c)).string();
    auto const host = ip.find(':') == std::string::npos ? ip : "[" + ip + "]";
    return "tcp://" + host + ":" + std::to_string(port(c));
}

IPYBOX_DECL result<connection_info> parse_connection_info(std::string_view text) {
    auto const object = ipybox::detail::parse_json(text);
    if (!object.is_object()) return detail::bad_connection("it is no JSON object");

    connection_info info;
    auto const transport = detail::text_member(object, "transport", "tcp");
    if (!transport) return failure(transport.error());
    if (*transport != "tcp" && *transport != "ipc")
        return detail::bad_connection("its transport is neither tcp nor ipc");
    info.protocol = *transport == "ipc" ? socket_protocol::ipc : socket_protocol::tcp;

    auto const scheme = detail::text_member(object, "signature_scheme", "hmac-sha256");
    if (!scheme) return failure(scheme.error());
    if (*scheme != "hmac-sha256" && !scheme->empty())
        return detail::bad_connection("its signature scheme is not hmac-sha256");

    std::pair<char const*, std::string*> const texts[] = {{"ip", &info.ip},
                                                          {"key", &info.key},
                                                          {"kernel_name", &info.kernel_name},
                                                          {"curve_publickey", &info.curve_publickey},
                                                          {"curve_secretkey", &info.curve_secretkey}};
    for (auto const& [name, target] : texts) {
        auto value = detail::text_member(object, name, target->c_str());
        if (!value) return failure(value);
        *target = std::move(*value);
    }
    if (info.curve_publickey.empty() != info.curve_secretkey.empty())
        return detail::bad_connection("it has one of curve_publickey and curve_secretkey without the other");

    std::pair<char const*, int*> const ports[] = {{"shell_port", &info.shell_port},
                                                  {"iopub_port", &info.iopub_port},
                                                  {"stdin_port", &info.stdin_port},
                                                  {"control_port", &info.control_port},
                                                  {"hb_port", &info.hb_port}};
    for (auto const& [name, target] : ports) {
        auto const found = object.find(name);
        // The heartbeat is not used here: a file without it will do.
        if (found == object.end() && target == &info.hb_port) continue;
        if (found == object.end() || !found->is_number_integer())
            return detail::bad_connection(std::string(name) + " is no number");
        auto const in_range =
            found->is_number_unsigned() && found->get<std::uint64_t>() >= 1 && found->get<std::uint64_t>() <= 65535;
        if (!in_range) return detail::bad_connection(std::string(name) + " is not between 1 and 65535");
        *target = found->get<int>();
    }

    if (info.protocol == socket_protocol::tcp && !detail::is_host(info.ip))
        return detail::bad_connection("its ip is no host");
    if (info.protocol == socket_protocol::ipc) {
        if (info.ip.empty() || info.ip.find('\0') != std::string::npos)
            return detail::bad_connection("its ip is no path");
        for (auto const& [name, port] : ports)
            if (info.socket_path(*port).string().size() > connection_info::ipc_path_limit)
                return detail::bad_connection("its ip makes paths of more than 107 bytes");
    }
    return info;
}

IPYBOX_DECL std::string to_text(connection_info const& info) {
    json object = {{"transport", info.protocol == socket_protocol::ipc ? "ipc" : "tcp"},
                   {"ip", info.ip},
                   {"shell_port", info.shell_port},
                   {"iopub_port", info.iopub_port},
                   {"stdin_port", info.stdin_port},
                   {"control_port", info.control_port},
                   {"hb_port", info.hb_port},
                   {"signature_scheme", "hmac-sha256"},
                   {"key", info.key},
                   {"kernel_name", info.kernel_name}};
    if (!info.curve_publickey.empty()) {
        object["curve_publickey"] = info.curve_publickey;
        object["curve_secretkey"] = info.curve_secretkey;
    }
    return json_text(object, 2);
}

IPYBOX_DECL result<connection_info> read_connection_file(std::filesystem::path const& file) {
    static constexpr std::size_t limit = 64 << 10;
    auto const name = "the connection file " + file.string();
    os::unique_fd const fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return failure(ipybox::detail::system_failure(name, errno));
    auto const text = os::read_all(fd.get(), name, limit);
    if (!text && text.error() == errc::invalid_argument) return detail::bad_connection("it has more than 64 KiB");
    if (!text) return failure(text.error());
    return parse_connection_info(*text);
}

IPYBOX_DECL result<void> write_connection_file(std::filesystem::path const& file, connection_info const& info) {
    os::unique_fd const fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return failure(ipybox::detail::system_failure("the connection file " + file.string(), errno));
    auto const text = to_text(info);
    std::string_view rest = text;
    if (int const broken = os::write_all(fd.get(), rest); broken != 0)
        return failure(ipybox::detail::system_failure("the connection file " + file.string(), broken));
    return {};
}

} // namespace ipybox::jupyter
