#pragma once

#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::mcp::detail {

/// Appends a text as a JSON string; what is not UTF-8 becomes U+FFFD.
inline void append_string(std::string& to, std::string_view text) {
    auto const before = to.size();
    if (append_json_string(to, text)) return;
    to.resize(before);
    to.append(json_string(text));
}

/// A text of the client in a sentence: as a JSON string, cut.
inline std::string shown(std::string_view text) {
    constexpr std::size_t longest = 100;
    std::string out;
    bool const whole = text.size() <= longest;
    append_string(out, whole ? text : text.substr(0, whole_characters(text, longest)));
    if (!whole) out.insert(out.size() - 1, "…");
    return out;
}

/// A JSON object, written member by member.
class object_text {
  public:
    object_text() = default;

    object_text& json(std::string_view name, std::string_view value) {
        text_.append(separator()).append("\"").append(name).append("\":").append(value);
        return *this;
    }

    object_text& string(std::string_view name, std::string_view value) {
        text_.append(separator()).append("\"").append(name).append("\":");
        append_string(text_, value);
        return *this;
    }

    [[nodiscard]] std::string take() {
        text_.append(text_.empty() ? "{}" : "}");
        return std::move(text_);
    }

  private:
    [[nodiscard]] std::string_view separator() const noexcept { return text_.empty() ? "{" : ","; }

    std::string text_;
};

} // namespace ipybox::mcp::detail
