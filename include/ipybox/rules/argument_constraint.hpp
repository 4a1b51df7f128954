#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/rules/comparison.hpp>
#include <ipybox/rules/match.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace ipybox {

/**
 * \brief A condition on one argument of a tool, as data: `amount <= 100`.
 * \details An argument that is missing, or of another type than the value, satisfies nothing, `!=` included: whether it
 * does is `unsure`. So is equality with a number beyond 64 bits, which is known only as the nearest floating-point
 * number.
 */
struct argument_constraint {
    std::string path;      ///< name of the argument, or a JSON pointer (RFC 6901) into the arguments: `/items/0/price`
    detail::comparison op; ///< how it compares
    nlohmann::json value;  ///< with what

    [[nodiscard]] match covers(nlohmann::ordered_json const& arguments) const;

    /// As in files: `{"path": "amount", "op": "<=", "value": 100}`.
    [[nodiscard]] nlohmann::json to_json() const;

    /// The inverse. `where` is the object's place in its document, for the text of errc::invalid_argument.
    [[nodiscard]] static result<argument_constraint> from_json(nlohmann::json const& value, std::string const& where);
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/argument_constraint.ipp>
#endif
