#pragma once

#include <ipybox/app/kept_cells.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace ipybox::detail {

/**
 * \brief Has a call attend to a cell: puts its actions to the user, and tells its progress, until the cell has ended,
 * the call is cancelled, or `until`.
 * \details While the user is asked, that clock stands still.
 * \param session whose code asks; empty: the only one of the client
 */
asio::awaitable<void> attend(asio::any_io_executor executor, std::shared_ptr<mcp::server::call> call,
                             std::shared_ptr<kept_cell> cell,
                             std::optional<std::chrono::steady_clock::time_point> until, std::string session);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/cell_attendance.ipp>
#endif
