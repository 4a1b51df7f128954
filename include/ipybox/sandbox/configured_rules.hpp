#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/sandbox/file_rules.hpp>
#include <ipybox/sandbox/placeholder_journal.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <cstddef>
#include <filesystem>

namespace ipybox::detail {

/**
 * \brief The rules of a configuration for files now, in a working directory without links.
 * \details Placeholders that killed hosts have left behind are removed before.
 * \param most_searched how many names in directories patterns may search
 * \param home the user's home directory; empty: none
 * \param launch whose `read_only` and `hidden` paths code must not make where they are missing; none: of no launch
 * \par Errors those of `file_rules_of` and of the journal
 */
[[nodiscard]] result<file_rules> configured_rules(sandbox_config const& config, std::size_t most_searched,
                                                  std::filesystem::path const& working_dir,
                                                  placeholder_journal const& journal, std::filesystem::path const& home,
                                                  launch_spec const* launch = nullptr);

/// The meaning of a configuration with these rules, without additions of a policy.
[[nodiscard]] sandbox_config::description description_of(file_rules rules, sandbox_config const& config);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/configured_rules.ipp>
#endif
