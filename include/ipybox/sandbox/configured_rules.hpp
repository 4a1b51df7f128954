#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/sandbox/file_rules.hpp>
#include <ipybox/sandbox/placeholder_journal.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <filesystem>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The rules of a configuration for files now.
 * \details Placeholders that killed hosts have left behind are removed before.
 * \param scene without placeholders: those that the journal knows of are added
 * \par Errors those of `file_rules_of` and of the journal
 */
[[nodiscard]] result<file_rules> configured_rules(sandbox_config const& config, placeholder_journal const& journal,
                                                  file_scene scene);

/// The paths that a launch wants closed: those that must not be written to, and those that must not be read.
[[nodiscard]] std::vector<std::filesystem::path> closed_paths_of(launch_spec const& spec);

/// The meaning of a configuration with these rules, without additions of a policy.
[[nodiscard]] sandbox_config::description description_of(file_rules rules, sandbox_config const& config);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/configured_rules.ipp>
#endif
