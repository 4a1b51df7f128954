#pragma once

#include <ipybox/core/config.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace ipybox {

/**
 * \brief The meaning of a configuration on this machine at this moment, for one working directory.
 * \details All paths are absolute and without links; of several that contain a file the innermost counts. A path in no
 * list can be read, and not be written; it cannot be read either if `only_readable` names anything.
 */
struct sandbox_description {
    /// Paths that the code can write to.
    std::vector<std::filesystem::path> writable;
    std::vector<std::filesystem::path> read_only; ///< within what is writable, missing ones too: they cannot be made
    std::vector<std::filesystem::path> masked;    ///< cannot be read
    std::vector<std::filesystem::path> readable;  ///< again, within what is masked
    std::vector<std::filesystem::path> only_readable; ///< of a policy that opens directories in place of closing them
    std::vector<std::filesystem::path> private_directories; ///< empty at the start, writable, and gone at the end
    std::vector<std::filesystem::path> absent;              ///< would be masked, but did not exist
    std::vector<std::filesystem::path> devices;             ///< that can be used, but for the harmless ones
    std::vector<std::string> hosts;                         ///< that can be reached
    bool asks_for_hosts = false;                            ///< others can be reached when they are approved
    std::vector<std::string> hidden_variables;              ///< of the environment
    std::vector<std::string> notices; ///< a sentence for each entry that does less than it seems to

    /// For people: a line for each list that is not empty, and for each notice.
    [[nodiscard]] std::string text() const;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/sandbox_description.ipp>
#endif
