#pragma once

#include <ipybox/action/action_answer.hpp>
#include <ipybox/async/aside.hpp>
#include <ipybox/core/base64.hpp>
#include <ipybox/core/first_line.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <system_error>
#include <utility>
#include <variant>

namespace ipybox::detail {

inline nlohmann::json error_head(std::optional<action_id> id, std::string_view kind, std::string_view text) {
    nlohmann::json head = {{"op", "error"}, {"id", nullptr}, {"kind", kind}, {"text", text}};
    if (id) head["id"] = *id;
    return head;
}

inline action_frame error_frame(std::optional<action_id> id, std::string_view kind, std::string_view text,
                                std::error_code cause = {}) {
    auto head = error_head(id, kind, text);
    if (cause) head["errno"] = cause.value();
    return {json_text(head)};
}

/// The name of an error's code, for the kernel.
inline std::string_view kind_of(error const& why) {
    if (why == errc::approval_rejected || why == errc::audit_failed) return "rejected";
    if (why == errc::approval_timed_out) return "approval_timeout";
    if (why == errc::cancelled) return "cancelled";
    if (why == errc::program_not_started) return "exec";
    if (why == errc::not_running) return "unavailable";
    return "server";
}

/// Collects what a result has beside its text.
class result_parts {
  public:
    void add(mcp::content const& block) {
        if (auto const* image = block.as<mcp::content::image>())
            add_base64({{"type", "image"}, {"mime", image->mime_type}}, image->base64);
        if (auto const* audio = block.as<mcp::content::audio>())
            add_base64({{"type", "audio"}, {"mime", audio->mime_type}}, audio->base64);
        if (auto const* resource = block.as<mcp::content::embedded_resource>()) add(*resource);
        if (auto const* link = block.as<mcp::content::resource_link>()) add(*link);
    }

    [[nodiscard]] nlohmann::json const& parts() const noexcept { return parts_; }
    [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }

  private:
    void add(mcp::content::embedded_resource const& resource) {
        if (resource.base64)
            add_base64({{"type", "blob"},
                        {"mime", resource.mime_type.value_or("application/octet-stream")},
                        {"uri", resource.uri}},
                       *resource.base64);
        else if (resource.text)
            add_bytes(
                {{"type", "document"}, {"mime", resource.mime_type.value_or("text/plain")}, {"uri", resource.uri}},
                *resource.text);
    }

    void add(mcp::content::resource_link const& link) {
        nlohmann::json part = {{"type", "link"}, {"uri", link.uri}, {"name", link.name}};
        if (link.title) part["title"] = *link.title;
        if (link.description) part["description"] = *link.description;
        if (link.mime_type) part["mime"] = *link.mime_type;
        add_bytes(std::move(part), {});
    }

    void add_base64(nlohmann::json part, std::string const& base64) {
        if (auto const bytes = base64_decode(base64)) return add_bytes(std::move(part), *bytes);
        part["type"] = "unreadable"; // said, not dropped: the server is wrong, and the tool has done its work
        add_bytes(std::move(part), base64);
    }

    void add_bytes(nlohmann::json part, std::string_view bytes) {
        part["size"] = bytes.size();
        parts_.push_back(std::move(part));
        bytes_ += bytes;
    }

    nlohmann::json parts_ = nlohmann::json::array();
    std::string bytes_;
};

/// All that a tool returned as text: its text blocks, and what else can be read, one below the other. Text that is all
/// there is is taken.
inline std::string readable_text(mcp::call_result& returned) {
    if (returned.content.size() == 1)
        if (auto* const only = returned.content.front().as<mcp::content::text>()) return std::move(only->value);
    std::string text;
    auto const add = [&text](std::string_view more) {
        if (!text.empty()) text += '\n';
        text += more;
    };
    for (auto const& block : returned.content) {
        if (auto const* plain = block.as<mcp::content::text>()) add(plain->value);
        if (auto const* resource = block.as<mcp::content::embedded_resource>(); resource && resource->text)
            add(*resource->text);
        if (auto const* link = block.as<mcp::content::resource_link>()) add(link->uri);
        if (auto const* unknown = block.as<mcp::content::unknown>()) add(json_text(unknown->value));
    }
    return text;
}

inline std::size_t size_of(mcp::content const& block) {
    if (auto const* text = block.as<mcp::content::text>()) return text->value.size();
    if (auto const* image = block.as<mcp::content::image>()) return image->base64.size();
    if (auto const* audio = block.as<mcp::content::audio>()) return audio->base64.size();
    if (auto const* resource = block.as<mcp::content::embedded_resource>())
        return (resource->text ? resource->text->size() : 0) + (resource->base64 ? resource->base64->size() : 0);
    return block.as<mcp::content::unknown>() != nullptr ? long_text : 0; // it is not known
}

IPYBOX_DECL std::size_t size_of(mcp::call_result const& returned) {
    auto bytes = returned.structured_content ? returned.structured_content->text().size() : 0;
    for (auto const& block : returned.content) bytes += size_of(block);
    return bytes;
}

IPYBOX_DECL action_frame result_answer(action_id id, mcp::call_result returned) {
    auto text = readable_text(returned);
    if (returned.is_error && text.empty() && returned.structured_content) text = returned.structured_content->text();
    if (returned.is_error) return error_frame(id, "tool", text.empty() ? "the tool failed and did not say why" : text);
    result_parts parts;
    for (auto const& block : returned.content) parts.add(block);
    bool const is_text = !returned.structured_content;
    nlohmann::json const head = {{"op", "result"}, {"id", id}, {"text", is_text}, {"parts", parts.parts()}};
    auto body = is_text ? std::move(text) : std::move(*returned.structured_content).take();
    body += parts.bytes();
    if (body.size() > largest_action_answer / 2)
        return error_frame(id, "server", "the result of the tool is larger than 128 MiB");
    return {json_text(head), std::move(body)};
}

IPYBOX_DECL action_frame packages_answer(action_id id, package_states const& packages) {
    auto states = nlohmann::json::object();
    for (auto const& [server, why] : packages) {
        auto& state = states[server];
        if (!why.empty()) state = std::string(first_line(why));
    }
    nlohmann::json const head = {{"op", "result"}, {"id", id}, {"text", false}, {"parts", nlohmann::json::array()}};
    return {json_text(head), json_text(states)};
}

IPYBOX_DECL action_frame json_answer(action_id id, mcp::raw_json value) {
    nlohmann::json const head = {{"op", "result"}, {"id", id}, {"text", false}, {"parts", nlohmann::json::array()}};
    auto body = std::move(value).take();
    if (body.size() > largest_action_answer / 2)
        return error_frame(id, "server", "the answer of the server is larger than 128 MiB");
    return {json_text(head), std::move(body)};
}

IPYBOX_DECL action_frame progress_answer(action_id id, mcp::call_options::progress const& reached) {
    constexpr std::size_t longest_message = 4096;
    nlohmann::json head = {{"op", "progress"}, {"id", id}, {"done", reached.done}};
    if (reached.total) head["total"] = *reached.total;
    if (reached.message)
        head["message"] = reached.message->substr(0, whole_characters(*reached.message, longest_message));
    return {json_text(head)};
}

IPYBOX_DECL action_frame started_answer(action_id id, std::size_t descriptors) {
    nlohmann::json const head = {{"op", "started"}, {"id", id}, {"descriptors", descriptors}};
    return {json_text(head)};
}

IPYBOX_DECL action_frame exited_answer(action_id id, exit_status status) {
    nlohmann::json head = {{"op", "exited"}, {"id", id}, {"code", nullptr}, {"signal", nullptr}};
    if (status.code) head["code"] = *status.code;
    if (status.signal) head["signal"] = *status.signal;
    return {json_text(head)};
}

IPYBOX_DECL action_frame error_answer(action_id id, error const& why) {
    // The code gets all lines of a server's answer. Of other texts it gets the first: further lines show commands and
    // standard error of the host.
    std::string_view const text = why.text();
    return error_frame(id, kind_of(why), why == errc::mcp_refused ? text : first_line(text), why.cause());
}

IPYBOX_DECL action_frame rejected_answer(action_id id, verdict const& said) {
    auto const why = said.refusal();
    auto head = error_head(id, kind_of(why), first_line(why.text()));
    head["by"] = to_string(said.by);
    return {json_text(head)};
}

IPYBOX_DECL action_frame malformed_answer(malformed_action const& malformed) {
    return error_frame(malformed.id, "request", malformed.what);
}

} // namespace ipybox::detail
