#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace ipybox::detail {

using tcp_ports = std::array<int, 5>;

/// A socket that is bound to a port of 127.0.0.1, any with 0; none when that port is in use.
inline os::unique_fd bind_tcp_port(int port) {
    os::unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // Ports in TIME_WAIT count as free, as they do for the kernel that binds them.
    int const on = 1;
    if (fd) (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (fd && ::bind(fd.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) fd.reset();
    return fd;
}

/// Different ports of 127.0.0.1 that are free now.
inline result<tcp_ports> free_tcp_ports() {
    tcp_ports ports{};
    std::array<os::unique_fd, std::tuple_size_v<tcp_ports>> bound; // all at once, so that they differ
    for (std::size_t i = 0; i < ports.size(); ++i) {
        bound[i] = bind_tcp_port(0);
        sockaddr_in address{};
        socklen_t size = sizeof address;
        if (!bound[i] || ::getsockname(bound[i].get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
            return failure(system_failure("choosing a TCP port", errno));
        ports[i] = ntohs(address.sin_port);
    }
    return ports;
}

inline bool are_free_tcp_ports(tcp_ports const& ports) {
    return std::all_of(ports.begin(), ports.end(), [](int port) { return static_cast<bool>(bind_tcp_port(port)); });
}

} // namespace ipybox::detail
