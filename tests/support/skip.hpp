#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace ipybox::test {

/// Says what a case lacks on this machine, before the case returns. Where IPYBOX_TEST_STRICT is 1 that is a failure.
inline void skip(std::string const& why) {
    auto const* strict = std::getenv("IPYBOX_TEST_STRICT");
    if (strict && std::string_view(strict) == "1") FAIL("skipped, which IPYBOX_TEST_STRICT forbids: " << why);
    WARN("skipped: " << why);
}

} // namespace ipybox::test
