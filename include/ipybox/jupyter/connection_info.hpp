#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/jupyter/socket_protocol.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

/** \file
 * The connection file, https://jupyter-client.readthedocs.io/en/stable/kernels.html, "Connection files".
 */

namespace ipybox::jupyter {

/**
 * \brief The addresses of a kernel's sockets, and the key that signs its messages.
 * \details With ipc `ip` is the beginning of the paths, the "ports" are their endings.
 */
struct connection_info {
    /// The longest path of a Unix socket in bytes (`sockaddr_un` less its final zero).
    static constexpr std::size_t ipc_path_limit = 107;

    socket_protocol protocol = socket_protocol::tcp;
    std::string ip = "127.0.0.1";
    int shell_port = 0;
    int iopub_port = 0;
    int stdin_port = 0;
    int control_port = 0;
    int hb_port = 0; ///< heartbeat; not used, but kernels want it
    std::string key; ///< of the HMAC-SHA256 signatures; empty: messages are not signed
    std::string kernel_name;
    std::string curve_publickey; ///< of CurveZMQ, in Z85; empty: not encrypted
    std::string curve_secretkey; ///< of CurveZMQ, in Z85

    [[nodiscard]] int port(message::channel c) const noexcept;

    /// The address that ZeroMQ connects to or binds: `ipc:///run/k-1`, `tcp://127.0.0.1:5001`.
    [[nodiscard]] std::string address(message::channel c) const;

    /// Path of an ipc channel's socket.
    [[nodiscard]] std::filesystem::path socket_path(int port) const;
};

/**
 * \brief Parses the JSON of a connection file and checks that its addresses can be connected to.
 * \par Errors errc::protocol_error — no JSON object, a member that is missing, of the wrong type or out of range, a
 * path that is too long, a signature scheme other than hmac-sha256
 */
[[nodiscard]] result<connection_info> parse_connection_info(std::string_view text);

/// The JSON of a connection file.
[[nodiscard]] std::string to_text(connection_info const& info);

/**
 * \brief Reads a connection file.
 * \par Errors errc::io_error — it cannot be read; errc::protocol_error — as `parse_connection_info`
 */
[[nodiscard]] result<connection_info> read_connection_file(std::filesystem::path const& file);

/**
 * \brief Writes a connection file, readable and writable by its owner only. The file must not exist yet.
 * \par Errors errc::io_error
 */
[[nodiscard]] result<void> write_connection_file(std::filesystem::path const& file, connection_info const& info);

} // namespace ipybox::jupyter

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/connection_info.ipp>
#endif
