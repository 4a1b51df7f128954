#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::http {

/// An event of a stream.
struct event {
    std::string type; ///< "message" where the server names none
    std::string data;
};

/**
 * \brief Reads a stream of events: WHATWG HTML section 9.2, "Server-sent events".
 * \details No I/O: pieces of the body go in, in whatever sizes, and events come out.
 */
class event_reader {
  public:
    /// \param longest bytes of the data of one event
    explicit event_reader(std::size_t longest) : longest_(longest) {}

    /// Another body begins, which goes on behind the last event. What was not a whole one is dropped.
    void begin();

    /// The events that a piece of the body completes. \par Errors errc::message_too_large
    [[nodiscard]] result<std::vector<event>> read(std::string_view piece);

    /// The id of the latest event that has one, from which a stream can be resumed; empty: it cannot.
    [[nodiscard]] std::string const& last_id() const noexcept { return last_id_; }

    /// How long to wait before the stream is asked for again, where the server says so.
    [[nodiscard]] std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }

  private:
    void take_line(std::string_view line, std::vector<event>& events);
    void take_field(std::string_view name, std::string_view value);

    std::size_t const longest_;
    std::string line_;          ///< the beginning of one
    bool after_return_ = false; ///< a line feed that comes next belongs to it
    bool begins_stream_ = true; ///< where a byte order mark may stand
    std::string type_;
    std::string data_;
    bool has_data_ = false;
    std::optional<std::string> id_; ///< of the event that is being read
    std::string last_id_;
    std::optional<std::chrono::milliseconds> retry_;
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/event_reader.ipp>
#endif
