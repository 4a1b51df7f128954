#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/** \file
 * JSON Schema as it is met in the lists of MCP servers: draft 7 (and what it shares with 4 and 6) and 2020-12. A
 * malformed keyword constrains nothing.
 */

namespace ipybox::codegen {

using ordered_json = nlohmann::ordered_json;

/// The version of JSON Schema that a document is written in.
enum class dialect {
    draft_7,       ///< and before; `$ref` stands alone
    draft_2020_12, ///< where `$schema` does not say (MCP 2025-11-25, "JSON Schema usage")
};

[[nodiscard]] dialect dialect_of(ordered_json const& document);

/// A set of kinds of values in JSON.
enum class kinds : std::uint8_t {
    none = 0,
    null = 1,
    boolean = 2,
    integer = 4,
    fraction = 8, ///< a number that is not an integer
    string = 16,
    array = 32,
    object = 64,
    number = integer | fraction,
    any = 127
};

[[nodiscard]] constexpr kinds operator|(kinds a, kinds b) noexcept {
    return static_cast<kinds>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr kinds operator&(kinds a, kinds b) noexcept {
    return static_cast<kinds>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
/// Whether all of `part` are in `whole`.
[[nodiscard]] constexpr bool includes(kinds whole, kinds part) noexcept { return (whole & part) == part; }

[[nodiscard]] kinds kind_of(ordered_json const& value);

/**
 * \brief The keywords of one schema that constrain something, in their order.
 * \details Left out is what is malformed, not of the dialect, without effect (`minItems: 0`, `additionalProperties:
 * true`), or an annotation.
 */
class schema_keywords {
  public:
    schema_keywords(ordered_json const& schema, dialect version);

    /// The schema is `false`.
    [[nodiscard]] bool forbids() const noexcept { return forbids_; }
    /// It constrains nothing.
    [[nodiscard]] bool empty() const noexcept { return keywords_.empty() && !forbids_; }

    /// The value of a keyword, or nullptr.
    [[nodiscard]] ordered_json const* find(std::string_view keyword) const noexcept;
    [[nodiscard]] bool has(std::string_view keyword) const noexcept { return find(keyword) != nullptr; }
    /// Whether there is no keyword beside these.
    [[nodiscard]] bool only(std::initializer_list<std::string_view> keywords) const noexcept;
    [[nodiscard]] std::vector<std::string_view> names() const;

    /// The kinds in `type`; kinds::none if there is no `type`.
    [[nodiscard]] kinds types() const noexcept { return types_; }

    /// Names in `type` that are not types, and are left out: the first such name, else empty.
    [[nodiscard]] std::string_view unknown_type() const noexcept { return unknown_type_; }

    /// Names in `required`.
    [[nodiscard]] std::vector<std::string> required() const;

  private:
    std::vector<std::pair<std::string_view, ordered_json const*>> keywords_;
    kinds types_ = kinds::none;
    std::string_view unknown_type_;
    bool forbids_ = false;
};

/// A schema within its document.
struct schema_node {
    ordered_json const* schema = nullptr;
    std::string pointer = "#"; ///< JSON Pointer as the fragment of a URI, RFC 6901 section 6; characters are escaped
                               ///< only where they must be

    /// The place below: `{"properties", "name"}`.
    [[nodiscard]] schema_node at(std::initializer_list<std::string_view> steps) const;
    [[nodiscard]] schema_node at(std::string_view keyword, std::size_t index) const;

    /// A member that is a text, else empty.
    [[nodiscard]] std::string_view text(char const* member) const;
};

/// A whole schema; it must outlive the nodes.
class schema_document {
  public:
    explicit schema_document(ordered_json const& root) : root_(root), dialect_(dialect_of(root)) {}

    [[nodiscard]] schema_node root() const { return {&root_, "#"}; }
    [[nodiscard]] dialect version() const noexcept { return dialect_; }
    [[nodiscard]] schema_keywords keywords(schema_node const& node) const { return {*node.schema, dialect_}; }

    /// The place that `#` or `#/…` names; empty if there is none.
    [[nodiscard]] std::optional<schema_node> resolve(std::string_view reference) const;

    /**
     * \brief Whether the meaning of a node depends on more than what is at its place: identifiers, anchors, references
     * by URI or by anchor.
     * \details Then only a validator that has read the whole document can judge.
     */
    [[nodiscard]] bool needs_document(schema_node const& node) const;

    /// Whether a pointer leads into a part with an identifier of its own, where references mean something else.
    [[nodiscard]] bool leaves_resource(std::string_view pointer) const;

  private:
    ordered_json const& root_;
    dialect dialect_;
};

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/schema.ipp>
#endif
