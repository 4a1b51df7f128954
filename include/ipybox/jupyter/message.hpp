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

    /// A message on the shell channel without content.
    message() = default;
    /// A message of a type, with its content.
    message(channel c, std::string t, nlohmann::json body) : on(c), type(std::move(t)), content(std::move(body)) {}

    /// The channel that it travels on.
    channel on = channel::shell;
    /// `header.msg_type`.
    std::string type;
    /// `header.msg_id`.
    std::string id;
    /// `header.session`.
    std::string session;
    /// `parent_header.msg_id`, empty without a parent.
    std::string parent_id;
    /// The parent's header as replies on the stdin channel repeat it; null unless needed.
    nlohmann::json parent_header;
    /// Its content.
    nlohmann::json content = nlohmann::json::object();
    /// Its metadata.
    nlohmann::json metadata = nlohmann::json::object();
    /// Its raw buffers.
    std::vector<std::string> buffers;

    /// JSON in `content.data` that is long, or has numbers of more than 64 bits, by MIME type; an empty string stands
    /// there for it. `take_bundle` gets it out.
    std::map<std::string, std::string, std::less<>> json_texts;

    /// The text of `content.metadata` if it has numbers of more than 64 bits; an empty object stands there for it.
    std::string metadata_text = {};

    /// Bytes that the message takes in memory, about: what flow control counts.
    std::size_t size = 0;

    /// Lets its kernel be listened to again, when enough of its messages are gone.
    std::shared_ptr<void> in_hand = {};

    /// Its place among the messages of its kernel, where the transport counts them. 0: the first one, its sign of life,
    /// or not counted.
    std::uint64_t number = 0;

    /// A fresh id: 128 random bits in hexadecimal.
    [[nodiscard]] static std::string new_id();

    /// A string of an untrusted object: empty when it is absent or no string.
    [[nodiscard]] static std::string field(nlohmann::json const& object, std::string_view name);

    /// The string `content[name]`, from its raw buffer where it travelled as one.
    [[nodiscard]] std::string take_text(std::string_view name);
};

} // namespace ipybox::jupyter

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/message.ipp>
#endif
