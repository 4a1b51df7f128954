#pragma once

#include <ipybox/os/datagram.hpp>
#include <ipybox/os/no_file_size_signal.hpp>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ipybox::os {
namespace detail {

inline result<socket_pair> make_pair(int type) {
    int ends[2];
    held_forks const meanwhile(2);
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
        return failure(ipybox::detail::system_failure("socketpair", errno));
    return socket_pair{unique_fd(ends[0], meanwhile), unique_fd(ends[1], meanwhile)};
}

inline transfer outcome(ssize_t count) noexcept {
    if (count > 0) return transfer::done;
    if (count == 0) return transfer::closed;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return transfer::would_block;
    return errno == ECONNRESET || errno == EPIPE ? transfer::closed : transfer::failed;
}

} // namespace detail

IPYBOX_DECL result<socket_pair> make_seqpacket_pair() { return detail::make_pair(SOCK_SEQPACKET); }

IPYBOX_DECL result<socket_pair> make_stream_pair(int buffer) {
    auto pair = detail::make_pair(SOCK_STREAM);
    if (!pair) return pair;
    for (int const end : {pair->ours.get(), pair->theirs.get()}) {
        // The system caps this by wmem_max: what it gives is good enough.
        (void)::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    }
    return pair;
}

/// So many descriptors travel with a datagram.
inline constexpr std::size_t most_descriptors = 8;

IPYBOX_DECL bool takes_bytes(int socket) noexcept {
    pollfd watched{socket, POLLOUT, 0};
    return ::poll(&watched, 1, 0) == 1 && watched.revents == POLLOUT;
}

IPYBOX_DECL transfer send_datagram(int socket, std::string_view bytes,
                                   std::span<unique_fd const> descriptors) noexcept {
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))] = {};
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptors.size() > most_descriptors) {
        errno = E2BIG;
        return transfer::failed;
    }
    if (!descriptors.empty()) {
        int numbers[most_descriptors];
        std::size_t count = 0;
        for (auto const& fd : descriptors) numbers[count++] = fd.get();
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        std::memcpy(CMSG_DATA(header), numbers, count * sizeof(int));
    }
    return detail::outcome(::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

IPYBOX_DECL transfer receive_datagram(int socket, std::string& bytes, std::size_t limit) {
    bytes.resize(limit);
    // Without a control buffer the system discards (and closes) any descriptors.
    ssize_t count = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
    // An end that closed with something unread resets the connection; what it had sent before is still there behind
    // that error.
    if (count < 0 && errno == ECONNRESET) count = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
    auto const outcome = detail::outcome(count);
    if (outcome != transfer::done) return outcome;
    if (static_cast<std::size_t>(count) > limit) {
        errno = EMSGSIZE;
        return transfer::failed;
    }
    bytes.resize(static_cast<std::size_t>(count));
    return outcome;
}

namespace detail {

inline void take_descriptors(msghdr& message, std::vector<unique_fd>& into, held_forks const& meanwhile) {
    for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        auto const count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
            into.emplace_back(number, meanwhile);
        }
    }
}

} // namespace detail

IPYBOX_DECL transfer receive_datagram(int socket, std::string& bytes, std::size_t limit,
                                      std::vector<unique_fd>& descriptors) {
    descriptors.clear();
    descriptors.reserve(most_descriptors);
    bytes.resize(limit);
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))] = {};
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    auto const receive = [&] {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        return ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    };
    held_forks const meanwhile(static_cast<int>(most_descriptors));
    ssize_t count = receive();
    if (count < 0 && errno == ECONNRESET) count = receive(); // as above
    auto const outcome = detail::outcome(count);
    if (outcome != transfer::done) return outcome;
    detail::take_descriptors(message, descriptors, meanwhile);
    if (static_cast<std::size_t>(count) > limit) {
        errno = EMSGSIZE;
        return transfer::failed;
    }
    bytes.resize(static_cast<std::size_t>(count));
    return outcome;
}

IPYBOX_DECL result<unique_fd> make_memory_file(char const* name, std::string_view bytes) {
    return make_memory_file(name, std::span(&bytes, 1));
}

IPYBOX_DECL result<unique_fd> make_memory_file(char const* name, std::span<std::string_view const> pieces) {
    unique_fd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file) return failure(ipybox::detail::system_failure("memfd_create", errno));
    no_file_size_signal const quiet;
    off_t at = 0; // the descriptor's own position stays at the beginning, for the reader
    for (auto rest : pieces) {
        while (!rest.empty()) {
            ssize_t const count = ::pwrite(file.get(), rest.data(), rest.size(), at);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return failure(ipybox::detail::system_failure("writing a file in memory", errno));
            rest.remove_prefix(static_cast<std::size_t>(count));
            at += count;
        }
    }
    // A process that can open a reader's descriptor, by /proc or as that reader, could write what it gets next.
    if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return failure(ipybox::detail::system_failure("sealing a file in memory", errno));
    return file;
}

} // namespace ipybox::os
