#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/channel.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>
#include <string_view>

namespace ipybox::mcp {

/**
 * \brief The channel to servers that are reached over HTTP: the header of the component `http` has an object of this,
 * and so brings the channel along.
 * \par Thread safety Safe.
 */
class offered_channel {
  public:
    using maker = result<std::shared_ptr<channel>> (*)(asio::any_io_executor const&, server_params const&);

    explicit offered_channel(maker make);
    offered_channel(offered_channel const&) = delete;
    offered_channel& operator=(offered_channel const&) = delete;
    ~offered_channel();

    /// The one of this program; nullptr: it has none.
    [[nodiscard]] static maker current();

    /// Why a server cannot be reached without one.
    static constexpr std::string_view missing = "is reached over HTTP, which needs the component http of the library: "
                                                "link ipybox::http and include <ipybox/http.hpp>";

  private:
    maker make_;
};

/// The channel that parameters ask for: to a child process, or over HTTP. \par Errors errc::invalid_argument — a server
/// that this program cannot reach
[[nodiscard]] result<std::shared_ptr<channel>> make_channel(asio::any_io_executor const& executor,
                                                            server_params const& params);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/offered_channel.ipp>
#endif
