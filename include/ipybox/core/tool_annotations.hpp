#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::detail {

/**
 * \brief The effects of a tool, as it declares them (MCP 2025-11-25, "Tools", data type ToolAnnotations), or MCP's
 * defaults where it says nothing.
 * \details A server's tools say what the server likes: it is to be trusted as far as the server is.
 */
struct tool_annotations {
    bool read_only = false;  ///< `readOnlyHint`: it changes nothing
    bool destructive = true; ///< `destructiveHint`: it may destroy something. False for a tool that changes nothing.
    bool idempotent = false; ///< `idempotentHint`: to call it twice does no more than to call it once
    bool open_world = true;  ///< `openWorldHint`: it deals with more than its own closed world, the web for example
};

/**
 * \brief Knows what tools say about their effects.
 * \par Thread safety Safe: requests are looked at in any thread.
 */
class annotation_source {
  public:
    annotation_source() = default;
    annotation_source(annotation_source const&) = delete;
    annotation_source& operator=(annotation_source const&) = delete;
    virtual ~annotation_source() = default;

    /// None: the tool is not known, as its server has not listed it yet.
    [[nodiscard]] virtual std::optional<tool_annotations> annotations(std::string const& server,
                                                                      std::string const& tool) const = 0;
};

/// The annotations of one tool: known already, or looked up each time that they are asked for. Most actions are decided
/// without.
class stated_annotations {
  public:
    stated_annotations() = default;
    stated_annotations(tool_annotations said) : said_(said) {}
    explicit stated_annotations(std::shared_ptr<annotation_source const> source) : source_(std::move(source)) {}

    /// None: the tool is not known.
    [[nodiscard]] std::optional<tool_annotations> of(std::string const& server, std::string const& tool) const {
        return source_ ? source_->annotations(server, tool) : said_;
    }

  private:
    std::optional<tool_annotations> said_;
    std::shared_ptr<annotation_source const> source_;
};

} // namespace ipybox::detail
