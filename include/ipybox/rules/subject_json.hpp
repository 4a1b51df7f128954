#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace ipybox::detail {

class strict_object;

/// Text of the kernel as JSON: itself, or `{"base64": …}` if it is not UTF-8, so that nothing of it is lost.
[[nodiscard]] nlohmann::ordered_json text_to_json(std::string_view text);

/**
 * \brief The action, without the cell that asks: kind and, where there are any, server, tool, uri, prompt, arguments in
 * their order, argv, cwd, env, input, host, port, protocol.
 * \details `subject_from_json` is the inverse. A variable that is removed has the value null; a name that is not UTF-8
 * is `base64:…`.
 */
[[nodiscard]] nlohmann::ordered_json subject_to_json(approval_subject const& subject);

/// The member `kind`; `tool` where it is missing or wrong, which the reader knows then.
[[nodiscard]] approval_subject::action kind_from(strict_object& object);

/// `where` is the object's place in its document, for the text of errc::invalid_argument.
[[nodiscard]] result<approval_subject> subject_from_json(nlohmann::json const& value, std::string const& where);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/subject_json.ipp>
#endif
