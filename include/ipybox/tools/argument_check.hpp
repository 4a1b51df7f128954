#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace ipybox::detail {

/**
 * \brief Whether values can be checked by a schema here: it uses no keyword of JSON Schema 2020-12 that constrains and is not known.
 * \details Known are all but `pattern`, `patternProperties`, `unevaluated…`, `$dynamicRef` and references that lead out of `$defs`. `format` and what describes
 * constrain nothing.
 * \return which keyword, and where; nothing where values can be checked
 */
[[nodiscard]] std::optional<std::string> find_unchecked(nlohmann::ordered_json const& schema);

/// What is wrong with a value, and where: "matrix/0/1 has to be a number"; nothing where it fits. The schema is one that `find_unchecked` has nothing against.
[[nodiscard]] std::optional<std::string> find_mismatch(nlohmann::ordered_json const& schema,
                                                       nlohmann::json const& value);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/argument_check.ipp>
#endif
