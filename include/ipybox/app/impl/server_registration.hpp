#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/file_memory.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/server_timeouts.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace ipybox::codegen {

struct generated_sources;

} // namespace ipybox::codegen

namespace ipybox::mcp {

class server_registry;

} // namespace ipybox::mcp

namespace ipybox::detail {

/// A server that a model registers, or has registered in an earlier run: what it is, and what is asked about it.
struct server_registration {
    mcp::server_params params;
    approval_subject subject = {};       ///< its name, and its entry as it was written
    mcp::detail::file_memory files = {}; ///< as they were when it was looked at

    /// \param workspace where it starts if the entry does not say it
    /// \param timeouts in the place of what the entry says
    /// \par Errors errc::invalid_argument — it cannot be registered
    [[nodiscard]] static result<server_registration> read(std::string const& name, nlohmann::ordered_json const& given,
                                                          std::filesystem::path const& workspace,
                                                          mcp::server_timeouts const& timeouts);

    /// Looks at its files, right before people are asked: as they are shown, so they have to be when it starts.
    /// \param before as they were in an earlier run
    void look_at(mcp::server_registry const& registry, std::optional<mcp::detail::file_memory> const& before = {});
};

/// The answer about a server that was registered: its tools in one block, as clients join texts without anything
/// between them.
[[nodiscard]] mcp::call_result answer_with_tools(codegen::generated_sources const& made);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/server_registration.ipp>
#endif
