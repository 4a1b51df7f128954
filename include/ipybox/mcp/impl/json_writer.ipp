#pragma once

#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/impl/json_characters.hpp>
#include <ipybox/mcp/json_cursor.hpp>
#include <ipybox/mcp/json_writer.hpp>

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

namespace ipybox::mcp {
namespace detail {

class json_writer {
  public:
    /// False where it cannot be written; what there is so far is of no use then.
    bool write(nlohmann::json const& value) {
        switch (value.type()) {
        case nlohmann::json::value_t::object: return write_object(value.get_ref<nlohmann::json::object_t const&>());
        case nlohmann::json::value_t::array: return write_array(value.get_ref<nlohmann::json::array_t const&>());
        case nlohmann::json::value_t::string: return write_string(value.get_ref<std::string const&>());
        default: text_.append(value.dump()); return true;
        }
    }

    [[nodiscard]] std::string take() { return std::move(text_); }
    [[nodiscard]] bool too_deep() const noexcept { return depth_ > json_cursor::deepest; }

  private:
    bool write_object(nlohmann::json::object_t const& members) {
        if (++depth_ > json_cursor::deepest) return false;
        char separator = '{';
        for (auto const& [name, value] : members) {
            text_.push_back(std::exchange(separator, ','));
            if (!write_string(name)) return false;
            text_.push_back(':');
            if (!write(value)) return false;
        }
        text_.append(members.empty() ? "{}" : "}");
        --depth_;
        return true;
    }

    bool write_array(nlohmann::json::array_t const& elements) {
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

    bool write_string(std::string_view string) {
        auto const* run = string.data();
        auto const* const end = run + string.size();
        // Where one string is most of the text, it is not to be copied again for what stands behind it.
        if (string.size() > text_.capacity()) text_.reserve(text_.size() + string.size() + 256);
        text_.push_back('"');
        for (auto const* at = run;;) {
            at = end_of_run(at, end);
            if (at == end) break;
            if (static_cast<signed char>(*at) < 0) {
                auto const c = first_character({at, static_cast<std::size_t>(end - at)});
                if (!c.valid) return false;
                at += c.bytes.size();
            } else {
                text_.append(run, at);
                write_escape(*at);
                run = ++at;
            }
        }
        text_.append(run, end).push_back('"');
        return true;
    }

    void write_escape(char c) {
        constexpr std::string_view digits = "0123456789abcdef";
        switch (c) {
        case '"': text_.append("\\\""); break;
        case '\\': text_.append("\\\\"); break;
        case '\b': text_.append("\\b"); break;
        case '\f': text_.append("\\f"); break;
        case '\n': text_.append("\\n"); break;
        case '\r': text_.append("\\r"); break;
        case '\t': text_.append("\\t"); break;
        default: {
            auto const code = static_cast<unsigned char>(c);
            text_.append("\\u00").push_back(digits[code >> 4U]);
            text_.push_back(digits[code & 0xfU]);
        }
        }
    }

    std::string text_;
    int depth_ = 0;
};

} // namespace detail

IPYBOX_DECL result<std::string> write_json(nlohmann::json const& value) {
    detail::json_writer writer;
    if (writer.write(value)) return writer.take();
    return failure(errc::invalid_argument, writer.too_deep() ? "is nested too deeply" : "holds text that is not UTF-8");
}

} // namespace ipybox::mcp
