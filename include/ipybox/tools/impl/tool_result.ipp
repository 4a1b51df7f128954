#pragma once

#include <ipybox/core/as_utf8.hpp>
#include <ipybox/core/base64.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/json_depth.hpp>
#include <ipybox/core/json_is_finite.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/tools/tool_result.hpp>

namespace ipybox {
namespace detail {

/// Written as nlohmann/json does, which tells 3.0 from 3: Python does so too.
template <class Json>
result<mcp::raw_json> written_result(Json const& value) {
    if (nests_deeper_than(json_cursor::deepest, value)) return failure(errc::invalid_argument, "is nested too deeply");
    if (!json_is_finite(value)) return failure(errc::invalid_argument, "has a number that JSON does not have");
    return mcp::raw_json::of_text(json_text(value));
}

inline mcp::call_result structured_result(result<mcp::raw_json> written) {
    mcp::call_result made;
    made.is_error = !written;
    if (written)
        made.structured_content = std::move(*written);
    else
        made.content.emplace_back(mcp::content::text{"the result " + std::string(written.error().text())});
    return made;
}

} // namespace detail

IPYBOX_DECL tool_result::tool_result() : returned_(std::make_shared<mcp::call_result>()) {}

IPYBOX_DECL mcp::call_result const& tool_result::get() const noexcept {
    static auto const& nothing = detail::never_destroyed<mcp::call_result>();
    return returned_ ? *returned_ : nothing;
}

IPYBOX_DECL bool tool_result::has_failed() const noexcept { return get().is_error; }

IPYBOX_DECL mcp::call_result tool_result::take() && { return std::move(own()); }

IPYBOX_DECL mcp::call_result& tool_result::own() {
    if (returned_.use_count() != 1) returned_ = std::make_shared<mcp::call_result>(get());
    return *returned_;
}

IPYBOX_DECL tool_result tool_result::of_json(nlohmann::ordered_json const& value) {
    tool_result made;
    *made.returned_ = detail::structured_result(detail::written_result(value));
    return made;
}

IPYBOX_DECL tool_result tool_result::of_json(nlohmann::json const& value) {
    tool_result made;
    *made.returned_ = detail::structured_result(detail::written_result(value));
    return made;
}

IPYBOX_DECL tool_result tool_result::text(std::string text) {
    tool_result made;
    made.add_text(std::move(text));
    return made;
}

IPYBOX_DECL tool_result tool_result::image(std::string_view bytes, std::string mime_type) {
    tool_result made;
    made.add_image(bytes, std::move(mime_type));
    return made;
}

IPYBOX_DECL tool_result tool_result::failed(std::string text) {
    auto made = tool_result::text(std::move(text));
    made.own().is_error = true;
    return made;
}

IPYBOX_DECL tool_result& tool_result::add_text(std::string text) {
    own().content.emplace_back(mcp::content::text{detail::as_utf8(std::move(text))});
    return *this;
}

IPYBOX_DECL tool_result& tool_result::add_image(std::string_view bytes, std::string mime_type) {
    own().content.emplace_back(mcp::content::image{base64_encode(bytes), detail::as_utf8(std::move(mime_type))});
    return *this;
}

IPYBOX_DECL tool_result& tool_result::add_audio(std::string_view bytes, std::string mime_type) {
    own().content.emplace_back(mcp::content::audio{base64_encode(bytes), detail::as_utf8(std::move(mime_type))});
    return *this;
}

IPYBOX_DECL tool_result& tool_result::add_file(std::string uri, std::string bytes, std::string mime_type) {
    mcp::content::embedded_resource file{detail::as_utf8(std::move(uri)), detail::as_utf8(std::move(mime_type))};
    if (file.mime_type->starts_with("text/") && is_utf8(bytes))
        file.text = std::move(bytes);
    else
        file.base64 = base64_encode(bytes);
    own().content.emplace_back(std::move(file));
    return *this;
}

IPYBOX_DECL tool_result& tool_result::add_link(std::string uri, std::string name) {
    own().content.emplace_back(
        mcp::content::resource_link{detail::as_utf8(std::move(uri)), detail::as_utf8(std::move(name))});
    return *this;
}

} // namespace ipybox
