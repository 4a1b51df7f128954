#pragma once

#include <ipybox/core/hex.hpp>
#include <ipybox/core/json_characters.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/json_writer.hpp>

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

namespace ipybox::mcp {
namespace detail {

inline void append_escape(std::string& to, char c) {
    switch (c) {
    case '"': to.append("\\\""); break;
    case '\\': to.append("\\\\"); break;
    case '\b': to.append("\\b"); break;
    case '\f': to.append("\\f"); break;
    case '\n': to.append("\\n"); break;
    case '\r': to.append("\\r"); break;
    case '\t': to.append("\\t"); break;
    default: {
        auto const code = static_cast<unsigned char>(c);
        to.append("\\u00").append(to_hex({&code, 1}));
    }
    }
}

IPYBOX_DECL bool append_json_string(std::string& to, std::string_view string) {
    auto const* run = string.data();
    auto const* const end = run + string.size();
    // If one string is most of the text, it must not be copied again for the text behind it.
    if (string.size() > to.capacity()) to.reserve(to.size() + string.size() + 256);
    to.push_back('"');
    for (auto const* at = run;;) {
        at = ipybox::detail::end_of_run(at, end);
        if (at == end) break;
        if (static_cast<signed char>(*at) < 0) {
            auto const c = first_character({at, static_cast<std::size_t>(end - at)});
            if (!c.valid) return false;
            at += c.bytes.size();
        } else {
            to.append(run, at);
            append_escape(to, *at);
            run = ++at;
        }
    }
    to.append(run, end).push_back('"');
    return true;
}

template <class Json>
class json_writer {
  public:
    using json = Json;
    using object_type = typename json::object_t;
    using array_type = typename json::array_t;

    /// False where it cannot be written; what there is so far is of no use then.
    bool write(json const& value) {
        switch (value.type()) {
        case json::value_t::object: return write_object(value.template get_ref<object_type const&>());
        case json::value_t::array: return write_array(value.template get_ref<array_type const&>());
        case json::value_t::string: return append_json_string(text_, value.template get_ref<std::string const&>());
        case json::value_t::discarded: discarded_ = true; return false;
        default: text_.append(json_text(value)); return true;
        }
    }

    [[nodiscard]] std::string take() { return std::move(text_); }
    [[nodiscard]] std::string_view obstacle() const noexcept {
        if (discarded_) return "holds a discarded value, which a parser left where there was no JSON";
        return depth_ > json_cursor::deepest ? "is nested too deeply" : "holds text that is not UTF-8";
    }

  private:
    bool write_object(object_type const& members) {
        if (++depth_ > json_cursor::deepest) return false;
        char separator = '{';
        for (auto const& [name, value] : members) {
            text_.push_back(std::exchange(separator, ','));
            if (!append_json_string(text_, name)) return false;
            text_.push_back(':');
            if (!write(value)) return false;
        }
        text_.append(members.empty() ? "{}" : "}");
        --depth_;
        return true;
    }

    bool write_array(array_type const& elements) {
        if (++depth_ > json_cursor::deepest) return false;
        char separator = '[';
        for (auto const& value : elements) {
            text_.push_back(std::exchange(separator, ','));
            if (!write(value)) return false;
        }
        text_.append(elements.empty() ? "[]" : "]");
        --depth_;
        return true;
    }

    std::string text_;
    int depth_ = 0;
    bool discarded_ = false;
};

template <class Json>
result<std::string> written(Json const& value) {
    json_writer<Json> writer;
    if (writer.write(value)) return writer.take();
    return failure(errc::invalid_argument, std::string(writer.obstacle()));
}

} // namespace detail

IPYBOX_DECL result<std::string> write_json(nlohmann::ordered_json const& value) { return detail::written(value); }

IPYBOX_DECL result<std::string> write_sorted_json(nlohmann::json const& value) { return detail::written(value); }

} // namespace ipybox::mcp
