#pragma once

#include <ipybox/http/request_outline.hpp>
#include <ipybox/http/response.hpp>

#include <memory>
#include <string>
#include <utility>

namespace ipybox::http::detail {

/// A message on its way, with its answer.
struct sent_message {
    explicit sent_message(std::string message)
        : text(std::make_shared<std::string const>(std::move(message))), about(outline_of(*text)) {}

    /// Whether it is one of the two that begin a session: others have to wait until it has arrived.
    [[nodiscard]] bool begins_session() const {
        return about.method == "initialize" || about.method == "notifications/initialized";
    }

    std::shared_ptr<std::string const> const text;
    request_outline const about;
    std::shared_ptr<response> answer = {}; ///< of HTTP
    bool is_answered = false;              ///< with a message
    bool is_cancelled = false;
    bool has_new_session = false; ///< it was sent anew, in a session that was begun for it
    bool has_new_tokens = false;  ///< it was sent anew, with tokens that were got for it
};
using message_ptr = std::shared_ptr<sent_message>;

} // namespace ipybox::http::detail
