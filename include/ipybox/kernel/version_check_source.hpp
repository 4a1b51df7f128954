#pragma once

#include <string_view>

namespace ipybox::detail {

/// What a message about an interpreter begins with that is too old.
inline constexpr std::string_view too_old_begins = "ipybox needs Python >= 3.10";

/// The text that starts the supervisor if the interpreter can run it: `PYTHON -c CHECK BOOT N`. Any Python can read it,
/// also 2.7.
inline constexpr std::string_view version_check = R"py(import sys
if sys.version_info < (3, 10):
    sys.stderr.write("ipybox needs Python >= 3.10, this is %s (%s)" % (sys.version.split()[0], sys.executable))
    sys.exit(1)
exec(sys.argv.pop(1))
)py";

} // namespace ipybox::detail
