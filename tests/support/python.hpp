#pragma once

#include <cstdlib>
#include <filesystem>

/** \file
 * What the tests need of their surroundings.
 */

namespace ipybox::test {

/// The interpreter with ipykernel: IPYBOX_TEST_PYTHON of the environment, else what the build found.
inline std::filesystem::path python() {
    char const* chosen = std::getenv("IPYBOX_TEST_PYTHON");
    return chosen != nullptr ? chosen : IPYBOX_TEST_PYTHON;
}

/// The root of the source tree.
inline std::filesystem::path source_dir() { return IPYBOX_TEST_SOURCE_DIR; }

} // namespace ipybox::test
