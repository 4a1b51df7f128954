#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/** \file
 * The Jupyter message, https://jupyter-client.readthedocs.io/en/stable/messaging.html, "General Message Format".
 */

namespace ipybox::jupyter {

using json = nlohmann::json;

/**
 * \brief One message, parsed.
 * \details Values that travelled as raw buffers (docs/kernel-protocol.md, "Raw values") stay in `buffers`: `take_text`
 * and mime_bundle.hpp get them out without a copy into JSON. Messages of a kernel are untrusted: read fields with
 * `field`.
 */
struct message {
    /// The channel that a message travels on. The numbers are those of the stream socket (docs/kernel-protocol.md
    /// section 3).
    enum class channel : std::uint8_t { shell = 0, iopub = 1, stdin_ = 2, control = 3 };

    message() = default;
    message(channel c, std::string t, json body) : on(c), type(std::move(t)), content(std::move(body)) {}

    channel on = channel::shell;
    std::string type;      ///< `header.msg_type`
    std::string id;        ///< `header.msg_id`
    std::string session;   ///< `header.session`
    std::string parent_id; ///< `parent_header.msg_id`, empty without a parent
    json parent_header;    ///< what replies on the stdin channel repeat of their parent's header; null unless needed
    json content = json::object();
    json metadata = json::object();
    std::vector<std::string> buffers;

    /// Long JSON in `content.data`, by MIME type; an empty string stands there for it. `take_bundle` gets it out.
    std::map<std::string, std::string, std::less<>> json_texts;

    /// Bytes that the message takes in memory, about: what flow control counts.
    std::size_t size = 0;

    /// Lets its kernel be listened to again, when enough of its messages are gone.
    std::shared_ptr<void> in_hand = {};

    /// Its place among the messages of its kernel, where the transport counts them. 0: the first one, its sign of life,
    /// or not counted.
    std::uint64_t number = 0;
};

/// A string of an untrusted object: empty when it is absent or no string.
[[nodiscard]] std::string field(json const& object, std::string_view name);

/// The string `content[name]`, from its raw buffer where it travelled as one.
[[nodiscard]] std::string take_text(message& m, std::string_view name);

/// A fresh message id: 128 random bits in hexadecimal.
[[nodiscard]] std::string new_message_id();

} // namespace ipybox::jupyter

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/message.ipp>
#endif
