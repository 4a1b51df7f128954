#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::os {

/// Two connected Unix sockets, close-on-exec and kept out of forks.
struct socket_pair {
    unique_fd ours;
    unique_fd theirs;
};

/// A pair that keeps the borders of messages (SOCK_SEQPACKET).
[[nodiscard]] result<socket_pair> make_seqpacket_pair();

/// A pair of byte streams (SOCK_STREAM) with buffers as large as the system allows, up to `buffer`.
[[nodiscard]] result<socket_pair> make_stream_pair(int buffer);

/// The outcome of a non-blocking transfer.
enum class transfer { done, would_block, closed, failed };

/// Whether a socket takes more bytes now.
[[nodiscard]] bool takes_bytes(int socket) noexcept;

/// Sends one datagram, with copies of descriptors, without blocking. `errno` tells more of a failure.
[[nodiscard]] transfer send_datagram(int socket, std::string_view bytes,
                                     std::span<unique_fd const> descriptors) noexcept;

/// Receives one datagram of at most `limit` bytes without blocking. Descriptors that come along are closed.
[[nodiscard]] transfer receive_datagram(int socket, std::string& bytes, std::size_t limit);

/// The same; `descriptors` become those that come along, 8 at most, as those of a pair.
[[nodiscard]] transfer receive_datagram(int socket, std::string& bytes, std::size_t limit,
                                        std::vector<unique_fd>& descriptors);

/// An anonymous file in memory that holds `bytes`, to be read from its beginning. It cannot be written any more.
[[nodiscard]] result<unique_fd> make_memory_file(char const* name, std::string_view bytes);

/// The same of pieces, of which no copy is made.
[[nodiscard]] result<unique_fd> make_memory_file(char const* name, std::span<std::string_view const> pieces);

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/datagram.ipp>
#endif
