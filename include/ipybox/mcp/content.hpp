#pragma once

#include <nlohmann/json.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace ipybox::mcp {

/**
 * \brief One block of what a tool returns (MCP 2026-07-28, "Tools", section "Tool Result").
 * \details All of it is the server's: carried, never interpreted.
 */
struct content {
    /// A text.
    struct text {
        std::string value; ///< the text itself
    };

    /// An image.
    struct image {
        std::string base64;    ///< as it came: core/base64.hpp decodes it
        std::string mime_type; ///< as "image/png"
    };

    /// Sound.
    struct audio {
        std::string base64;    ///< as it came
        std::string mime_type; ///< as "audio/wav"
    };

    /// Something that can be read at the server under its URI.
    struct resource_link {
        std::string uri;                             ///< where it is
        std::string name;                            ///< for programs
        std::optional<std::string> title = {};       ///< for people
        std::optional<std::string> description = {}; ///< what it is, for a model
        std::optional<std::string> mime_type = {};   ///< of its content
    };

    /// The same with its content: text or a blob.
    struct embedded_resource {
        std::string uri;                           ///< where it is
        std::optional<std::string> mime_type = {}; ///< of its content
        std::optional<std::string> text = {};      ///< the content, where it is text
        std::optional<std::string> base64 = {};    ///< the content, where it is a blob
    };

    /// A block of a type that is not known here, whole.
    struct unknown {
        std::string type;             ///< as the block names it; empty where it does not
        nlohmann::ordered_json value; ///< the block
    };

    /// A block of one of these kinds.
    using value_type = std::variant<text, image, audio, resource_link, embedded_resource, unknown>;

    /// An empty text.
    content() = default;

    /// A block of any of these kinds.
    template <class Kind>
        requires(!std::same_as<std::remove_cvref_t<Kind>, content> && std::constructible_from<value_type, Kind>)
    content(Kind&& kind, // NOLINT(google-explicit-constructor, bugprone-forwarding-reference-overload)
            std::optional<nlohmann::json> hints = {})
        : value(std::forward<Kind>(kind)), annotations(std::move(hints)) {}

    /// The block as one of these kinds; null if it is of another.
    template <class Kind>
    [[nodiscard]] Kind const* as() const noexcept {
        return std::get_if<Kind>(&value);
    }
    /// \copydoc as
    template <class Kind>
    [[nodiscard]] Kind* as() noexcept {
        return std::get_if<Kind>(&value);
    }

    /// The block.
    value_type value;
    /// Hints for whom it is and how important. An unknown block has its own within it.
    std::optional<nlohmann::json> annotations = {};
};

} // namespace ipybox::mcp
