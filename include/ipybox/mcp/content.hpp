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
    struct text {
        std::string value;
    };

    struct image {
        std::string base64; ///< as it came: core/base64.hpp decodes it
        std::string mime_type;
    };

    struct audio {
        std::string base64;
        std::string mime_type;
    };

    /// Something that can be read at the server under its URI.
    struct resource_link {
        std::string uri;
        std::string name;
        std::optional<std::string> title = {};
        std::optional<std::string> description = {};
        std::optional<std::string> mime_type = {};
    };

    /// The same with its content: text or a blob.
    struct embedded_resource {
        std::string uri;
        std::optional<std::string> mime_type = {};
        std::optional<std::string> text = {};
        std::optional<std::string> base64 = {};
    };

    /// A block of a type that is not known here, whole.
    struct unknown {
        std::string type;
        nlohmann::ordered_json value;
    };

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
