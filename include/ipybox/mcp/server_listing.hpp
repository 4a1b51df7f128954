#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief The description of a server and its tools: the results of `initialize`, `server/discover` and `tools/list`, as
 * each version has them.
 * \details Texts are written once. The list has the order of the options and does not change.
 */
class server_listing {
  public:
    /// How long clients of 2026-07-28 may keep what they are told, in milliseconds.
    static constexpr int time_to_live = 300'000;

    explicit server_listing(server::options const& options);

    /// The members of a result of 2026-07-28 that every result has: its type, and who answers.
    [[nodiscard]] std::string complete(std::vector<rpc_member> const& members = {}) const;

    /// `_meta` of a result of 2026-07-28 has this member.
    [[nodiscard]] rpc_member server_info() const { return {"io.modelcontextprotocol/serverInfo", info_}; }

    [[nodiscard]] std::string initialize_result(server::client_description const& client) const;
    [[nodiscard]] std::string discover_result() const;

    /// \param cursor JSON of the client, empty for the first page
    /// \par Errors rpc_invalid_params — a cursor that no page had
    [[nodiscard]] answer_to<std::string> tools_result(server::client_description const& client,
                                                      std::string_view cursor) const;

    [[nodiscard]] bool has_tasks() const noexcept { return has_tasks_; }

  private:
    [[nodiscard]] std::string capabilities(server::client_description const& client) const;

    std::string info_;       ///< JSON, with a title
    std::string plain_info_; ///< JSON, without one
    std::string instructions_;
    std::vector<server::tool> const* tools_;
    std::size_t page_;
    bool has_tasks_ = false;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_listing.ipp>
#endif
