#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/http/message.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::http {

/// One challenge of a field `WWW-Authenticate`: RFC 9110 section 11.6.1.
struct challenge {
    std::string scheme;     ///< in lower case: "bearer"
    fields parameters = {}; ///< without quotes; names are compared without case
};

/// The challenges of one field. A malformed field yields those before the first mistake.
[[nodiscard]] std::vector<challenge> parse_challenges(std::string_view field);

/// The challenge of a server that takes bearer tokens: RFC 6750 section 3 and RFC 9728 section 5.1. A parameter that
/// the server leaves out is empty.
struct bearer_challenge {
    std::string resource_metadata = {}; ///< the address of the metadata of the server
    std::string scope = {};             ///< the scopes that the request needs
    std::string error = {};             ///< "insufficient_scope"
};

/// The first bearer challenge in the fields of an answer. All is empty where it has none.
[[nodiscard]] bearer_challenge bearer_challenge_of(fields const& headers);

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/challenge.ipp>
#endif
