#pragma once

#include <ipybox/core/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/// The additions of a launch to the settings of srt. All paths are absolute.
struct srt_additions {
    std::vector<std::filesystem::path> writable = {};
    std::vector<std::filesystem::path> readable = {};  ///< within what cannot be read
    std::vector<std::filesystem::path> read_only = {}; ///< within what is writable
    std::vector<std::filesystem::path> hidden = {};    ///< cannot be read
    std::vector<std::string> left_out = {};            ///< paths of the document, as they are written there
    bool unix_sockets = false;                         ///< they can be made
    bool user_namespaces = false;                      ///< they can be made
};

/**
 * \brief The settings of srt for a launch: those of a document, all of its keys as they are but for paths that are left
 * out, and the additions.
 * \param name what the texts of errors call the document
 * \par Errors errc::invalid_argument — the document is not JSON, has a list that is none, or switches the rules for
 * files off; a path is not UTF-8
 */
[[nodiscard]] result<std::string> srt_settings(std::string_view document, std::string_view name,
                                               srt_additions const& more);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/srt_settings.ipp>
#endif
