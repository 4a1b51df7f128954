#pragma once

#include <ipybox/app/kept_servers.hpp>
#include <ipybox/mcp/server_timeouts.hpp>
#include <ipybox/services/server_source.hpp>

#include <asio/awaitable.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// The servers of earlier runs. Each is asked about when code needs it first, unless it was approved for always and its
/// files are the same.
class kept_server_source final : public server_source {
  public:
    /// \param timeouts in the place of what their entries say
    kept_server_source(std::shared_ptr<kept_servers> kept, std::filesystem::path workspace,
                       mcp::server_timeouts const& timeouts)
        : kept_(std::move(kept)), workspace_(std::move(workspace)), timeouts_(timeouts) {}

    [[nodiscard]] bool has(std::string const& name) const override { return kept_->all().contains(name); }

    [[nodiscard]] std::vector<std::string> names() const override;

    [[nodiscard]] asio::awaitable<result<void>> add_to(mcp::server_registry& registry, std::string name,
                                                       approval approve) override;

  private:
    std::shared_ptr<kept_servers> kept_;
    std::filesystem::path workspace_;
    mcp::server_timeouts timeouts_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/kept_server_source.ipp>
#endif
