#pragma once

#include <ipybox/core/as_utf8.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/jupyter/impl/mime_type.hpp>
#include <ipybox/jupyter/json_frames.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::jupyter {
namespace detail {

inline std::string describe(ipybox::detail::json_excess excess, ipybox::detail::json_bounds const& bounds) {
    switch (excess) {
    case ipybox::detail::json_excess::bytes: return "has more than " + std::to_string(bounds.bytes >> 10) + " KiB";
    case ipybox::detail::json_excess::values: return "has more than " + std::to_string(bounds.values) + " values";
    case ipybox::detail::json_excess::depth: break;
    case ipybox::detail::json_excess::none: break;
    }
    return "is nested too deeply";
}

inline tl::unexpected<error> exceeded(ipybox::detail::json_excess excess, char const* frame,
                                      ipybox::detail::json_bounds const& bounds) {
    auto const code = excess == ipybox::detail::json_excess::depth ? errc::protocol_error : errc::message_too_large;
    return failure(code, std::string("the ") + frame + " of a Jupyter message " + describe(excess, bounds));
}

/// Whether anything may be built from the text of a frame.
inline result<void> counted(std::string_view text, char const* frame, ipybox::detail::json_bounds const& bounds) {
    auto const excess = ipybox::detail::count_json(text, bounds).excess;
    if (excess != ipybox::detail::json_excess::none) return exceeded(excess, frame, bounds);
    return {};
}

inline tl::unexpected<error> no_object(char const* frame) {
    return failure(errc::protocol_error, std::string("the ") + frame + " of a Jupyter message is no JSON object");
}

inline result<nlohmann::json> parse_object(std::string_view text, char const* frame,
                                           ipybox::detail::json_bounds const& bounds) {
    if (auto within = counted(text, frame, bounds); !within) return failure(within);
    auto value = read_json(text);
    if (!value || !value->is_object()) return no_object(frame);
    return std::move(*value);
}

inline bool is_display(std::string_view type) noexcept {
    return type == "display_data" || type == "execute_result" || type == "update_display_data";
}

/// JSON above this many bytes stays text in what is displayed.
inline constexpr std::size_t longest_built_json = 4096;

/// Reads what a frame holds into a message, building no more than is bounded.
class content_reader {
  public:
    content_reader(message& m, std::string_view content, message_bounds const& bounds)
        : message_(m), content_(content), bounds_(bounds) {}

    [[nodiscard]] result<void> read() {
        if (!is_display(message_.type)) return read_all();
        if (auto within = counted(content_, "content", bounds_.displayed); !within) return within;
        json_cursor cursor(content_);
        if (cursor.peek() != '{') return no_object("content");
        bool const whole = cursor.object([&](std::string& name) {
            if (name == "data" && cursor.peek() == '{')
                return read_data(cursor, message_.content["data"] = nlohmann::json::object());
            if (name == "metadata" && cursor.peek() == '{') {
                message_.metadata_text.clear();
                if (auto text = exact_text(cursor, 0)) {
                    message_.content[name] = nlohmann::json::object();
                    message_.metadata_text = std::move(*text);
                    return true;
                }
            }
            return built(cursor, message_.content[name]);
        });
        if (excess_ != ipybox::detail::json_excess::none) return exceeded(excess_, "content", bounds_.content);
        if (!whole || !cursor.finished()) return no_object("content");
        return {};
    }

  private:
    result<void> read_all() {
        auto all = parse_object(content_, "content", bounds_.content);
        if (all)
            message_.content = std::move(*all);
        else if (message_.type.starts_with("comm_"))
            return {};
        else
            return failure(all);
        return {};
    }

    bool read_data(json_cursor& cursor, nlohmann::json& data) {
        message_.json_texts.clear(); // of two members of one name the last one counts
        return cursor.object([&](std::string& type) {
            message_.json_texts.erase(type);
            auto const first = cursor.peek();
            bool const is_text = first == '"' || (first != '{' && !is_json(type));
            auto text = is_text ? std::nullopt : exact_text(cursor, longest_built_json);
            if (!text) return built(cursor, data[type]);
            data[type] = "";
            message_.json_texts[type] = std::move(*text);
            return true;
        });
    }

    /// Passes over JSON that would not be the same if a value were built from it, or that is long; its text. None, and
    /// the cursor stays, where it can be built.
    static std::optional<std::string> exact_text(json_cursor& cursor, std::size_t longest) {
        auto ahead = cursor;
        auto const text = ahead.verify();
        bool const is_long = text && longest > 0 && text->size() > longest;
        if (!text || (!is_long && !ipybox::detail::has_wide_number(*text))) return std::nullopt;
        cursor = ahead;
        return ipybox::detail::as_utf8(std::string(*text));
    }

    /// Builds a value, as long as all that are built are within the bounds together.
    bool built(json_cursor& cursor, nlohmann::json& value) {
        auto ahead = cursor;
        auto const text = ahead.skip();
        if (!text) return false;
        auto left = bounds_.content;
        left.values -= built_;
        auto const census = ipybox::detail::count_json(*text, left);
        excess_ = census.excess;
        built_ += std::min(census.values, left.values);
        return excess_ == ipybox::detail::json_excess::none && cursor.value(value);
    }

    std::size_t built_ = 0;
    message& message_;
    std::string_view content_;
    message_bounds const& bounds_;
    ipybox::detail::json_excess excess_ = ipybox::detail::json_excess::none;
};

/// The MIME types in the data of a display, as far as it can be read.
inline std::string types_in(std::string_view content) {
    std::string types;
    json_cursor cursor(content);
    (void)cursor.object([&](std::string& name) {
        if (name != "data" || cursor.peek() != '{') return cursor.skip(json_cursor::any_depth).has_value();
        return cursor.object([&](std::string& type) {
            if (types.size() < 200) types.append(types.empty() ? "" : ", ").append(type.substr(0, 100));
            return cursor.skip(json_cursor::any_depth).has_value();
        });
    });
    return types;
}

/// Puts a sentence in the place of what a display would have shown.
inline void leave_out(message& m, std::string_view content, error const& why) {
    auto const types = types_in(content);
    m.content = {{"data",
                  {{"text/plain", "[ipybox] a display" + (types.empty() ? std::string() : " (" + types + ")") +
                                      " is left out, because it cannot be read: " + why.text()}}}};
    m.metadata = nlohmann::json::object();
    m.metadata_text.clear();
    m.json_texts.clear();
}

} // namespace detail

IPYBOX_DECL json_frames to_frames(message& m) {
    if (m.id.empty()) m.id = message::new_id();
    nlohmann::json const header = {
        {"msg_id", m.id}, {"msg_type", m.type}, {"session", m.session}, {"username", "ipybox"}, {"version", "5.3"}};
    json_frames frames;
    frames.header = json_text(header);
    frames.parent_header = m.parent_header.is_object() ? json_text(m.parent_header) : "{}";
    frames.metadata = json_text(m.metadata);
    frames.content = json_text(m.content);
    return frames;
}

IPYBOX_DECL result<message> from_frames(message::channel on, std::string_view header, std::string_view parent_header,
                                        std::string_view metadata, std::string_view content,
                                        message_bounds const& bounds) {
    auto head = detail::parse_object(header, "header", bounds.header);
    if (!head) return failure(head);
    auto parent = detail::parse_object(parent_header, "parent_header", bounds.header);
    if (!parent) return failure(parent);
    auto meta = detail::parse_object(metadata, "metadata", bounds.metadata);

    message m(on, message::field(*head, "msg_type"), nlohmann::json::object());
    if (m.type.empty()) return failure(errc::protocol_error, "a Jupyter message has no msg_type");
    result<void> read;
    if (meta) {
        m.metadata = std::move(*meta);
        read = detail::content_reader(m, content, bounds).read();
    } else {
        read = failure(meta);
    }
    if (!read && !detail::is_display(m.type)) return failure(read);
    if (!read) detail::leave_out(m, content, read.error());
    m.id = message::field(*head, "msg_id");
    m.session = message::field(*head, "session");
    m.parent_id = message::field(*parent, "msg_id");
    // Only a request on the stdin channel is answered by us, and its answer names it as parent.
    if (on == message::channel::stdin_)
        m.parent_header = {{"msg_id", m.id}, {"msg_type", m.type}, {"session", m.session}};
    m.size = header.size() + parent_header.size() + metadata.size() + content.size();
    return m;
}

} // namespace ipybox::jupyter
