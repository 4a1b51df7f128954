#pragma once

#include <ipybox/mcp/raw_json.hpp>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string_view>

namespace ipybox::mcp::detail {

/**
 * \brief Arguments as they are meant, where a client sent them in another form than the input schema wants.
 * \details Some clients send objects and lists as JSON text, numbers and truth values as text, and `null` for what is
 * left out; some models write a number for a name. Each is taken where the schema's type allows nothing else. Members
 * that fit stay as they are, but for integers beyond 64 bits, which are rounded.
 * \return none where there is nothing to read another way
 */
[[nodiscard]] std::optional<raw_json> lenient_arguments(nlohmann::ordered_json const& schema, raw_json const& given);

/// The value of a JSON text with the type: "object", "array", "number", "integer" or "boolean". None: the text is not
/// one, or has two members of the same name in an object.
[[nodiscard]] std::optional<nlohmann::ordered_json> value_of_text(std::string_view text, std::string_view type);

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/lenient_arguments.ipp>
#endif
