#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/http/message.hpp>

#include <string>
#include <string_view>

namespace ipybox::http {

/// Text with percent signs for all but letters, digits and `-._~`: RFC 3986 section 2.
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// Names and values as `application/x-www-form-urlencoded`, which queries are written in, too.
[[nodiscard]] std::string write_form(fields const& values);

/// The inverse. A percent sign without two digits stands for itself.
[[nodiscard]] fields parse_form(std::string_view text);

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/form.ipp>
#endif
