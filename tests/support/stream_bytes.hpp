#pragma once

#include <ipybox/transport/stream_frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/** \file
 * Bytes of the stream socket, without a socket.
 */

namespace ipybox::test {

/// Four bytes, little-endian.
inline std::string u32(std::uint32_t value) {
    std::string bytes;
    for (int byte = 0; byte < 4; ++byte) bytes.push_back(static_cast<char>(value >> (8 * byte) & 0xff));
    return bytes;
}

/// Reads as a transport does: all messages behind each read, none behind an error.
struct stream_reading {
    void feed(std::string_view bytes, std::size_t piece = stream_frame_reader::read_size) {
        while (!bytes.empty() && !failed) {
            auto const room = reader.prepare();
            auto const count = std::min({piece, room.size(), bytes.size()});
            std::memcpy(room.data(), bytes.data(), count);
            reader.commit(count);
            bytes.remove_prefix(count);
            in_reader += count;
            most_room = std::max(most_room, in_reader);
            take();
        }
    }

    void take() {
        for (;;) {
            auto m = reader.next();
            if (!m) {
                failed = m.error();
                return;
            }
            if (!*m) return;
            in_reader -= 4 + (*m)->size;
            messages.push_back(std::move(**m));
        }
    }

    stream_frame_reader reader;
    std::vector<jupyter::message> messages;
    std::optional<error> failed;
    std::size_t in_reader = 0; ///< bytes of messages that are not complete
    std::size_t most_room = 0;
};

inline stream_reading read_stream(std::string_view bytes, std::size_t piece = stream_frame_reader::read_size) {
    stream_reading reading;
    reading.feed(bytes, piece);
    return reading;
}

} // namespace ipybox::test
