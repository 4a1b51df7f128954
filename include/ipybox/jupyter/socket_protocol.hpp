#pragma once

namespace ipybox::jupyter::detail {

/// The transport of a kernel's ZeroMQ sockets.
enum class socket_protocol {
    ipc, ///< Unix sockets: only the owner of their directory can connect
    tcp  ///< ports; the key keeps others out
};

} // namespace ipybox::jupyter::detail
