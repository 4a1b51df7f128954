#pragma once

#include <string_view>

namespace ipybox::detail {

/// The line that a text begins with. Of an error it is for everyone; what stands below may be the host's alone.
[[nodiscard]] inline std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

} // namespace ipybox::detail
