#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::mcp {

struct call_result;

} // namespace ipybox::mcp

namespace ipybox {

/**
 * \brief The result of a host tool that is more than a value: text, images, files, or why it failed.
 * \details A result is a value or text; parts come beside it. In Python the parts are `result.parts`, and displayed
 * with it; a failure is a `ToolRunnerError`.
 * \par Example
 * \snippet 17_host_function.cpp parts
 */
class tool_result {
  public:
    /// Nothing: an empty text. A result that was moved from is that, too.
    tool_result();

    /// A value that JSON can have. One that cannot be written is a failure.
    [[nodiscard]] static tool_result value(nlohmann::ordered_json const& value) { return of_json(value); }

    /// The same with members that are sorted by name.
    template <std::same_as<nlohmann::json> Json>
    [[nodiscard]] static tool_result value(Json const& value) {
        return of_json(value);
    }

    /// A result that is text.
    [[nodiscard]] static tool_result text(std::string text);

    /// `bytes` are those of a file: a PNG, say.
    [[nodiscard]] static tool_result image(std::string_view bytes, std::string mime_type = "image/png");

    /// The tool failed; the text is for the code that called it.
    [[nodiscard]] static tool_result failed(std::string text);

    /// Further text stands below the one before. A result that has a value does not show it.
    tool_result& add_text(std::string text);
    /// Adds an image.
    tool_result& add_image(std::string_view bytes, std::string mime_type = "image/png");
    /// Adds sound.
    tool_result& add_audio(std::string_view bytes, std::string mime_type);

    /// A file with its content. Its text is `Document.text` in Python where `mime_type` begins with "text/", else it is
    /// a `Blob`.
    tool_result& add_file(std::string uri, std::string bytes, std::string mime_type);

    /// A link to content elsewhere.
    tool_result& add_link(std::string uri, std::string name);

    /// Whether it is a failure.
    [[nodiscard]] bool has_failed() const noexcept;

    /// The same as an MCP server would return it.
    [[nodiscard]] mcp::call_result const& get() const noexcept;
    /// The result as the protocol has it, for the library.
    [[nodiscard]] mcp::call_result take() &&;

  private:
    [[nodiscard]] static tool_result of_json(nlohmann::ordered_json const& value);
    [[nodiscard]] static tool_result of_json(nlohmann::json const& value);

    /// To be written to: copies share it until then.
    [[nodiscard]] mcp::call_result& own();

    std::shared_ptr<mcp::call_result> returned_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_result.ipp>
#endif
