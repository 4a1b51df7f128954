#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/http/message.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::http {

/// The text of a header field that stands for a value: as it is, or in base64 where a field cannot have it (MCP
/// 2026-07-28, "Value Encoding").
[[nodiscard]] std::string field_value(std::string_view text);

/**
 * \brief The arguments of tools that go into header fields too, so that proxies can route by them.
 * \details MCP 2026-07-28, "Custom Headers from Tool Parameters": a schema names the field by `x-mcp-header`.
 */
class tool_headers {
  public:
    /**
     * \brief Learns the fields from the answer to `tools/list`.
     * \details A tool whose schema names fields in a way that the protocol forbids is not to be used over HTTP.
     * \return the answer without such tools; none: it has none
     */
    [[nodiscard]] std::optional<std::string> learn(std::string_view answer);

    /// The fields of a call.
    [[nodiscard]] fields of(std::string const& tool, std::string_view arguments) const;

  private:
    /// A field, and the way to its argument.
    struct mirrored {
        std::string field;
        std::vector<std::string> path;
    };

    std::map<std::string, std::vector<mirrored>> tools_;
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/tool_headers.ipp>
#endif
