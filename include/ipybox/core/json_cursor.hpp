#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/json_depth.hpp>

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ipybox {

/**
 * \brief Goes once through JSON text (RFC 8259), from front to back, and builds only what is asked for.
 * \details Texts of servers and kernels may be large. Passing over a value costs a look at its brackets and quotes, so
 * the envelope of a message is read before the type of its result is known; and long strings, of which large results
 * consist, are copied in runs. Values nest at most `deepest` times, which bounds every recursion over what a server
 * sent. Strings come out as valid UTF-8: what is none, and halves of surrogate pairs, become U+FFFD.
 *
 * A function that fails returns false or none, and so does every later one.
 */
class json_cursor {
  public:
    static constexpr int deepest = ipybox::detail::deepest_json;

    /// For `skip`: of what only its end has to be found.
    static constexpr int any_depth = std::numeric_limits<int>::max();

    explicit json_cursor(std::string_view text) noexcept : at_(text.data()), end_(text.data() + text.size()) {}

    [[nodiscard]] bool failed() const noexcept { return failed_; }

    /// The first character of the next value; 0 at the end.
    [[nodiscard]] char peek() noexcept;

    /// Whether nothing but white space is left.
    [[nodiscard]] bool finished() noexcept { return peek() == 0 && at_ == end_ && !failed_; }

    /// Passes over a value; its text, of which only brackets and quotes were looked at.
    /// \param levels how deep it may nest, counted from the beginning of the text; it takes no recursion
    std::optional<std::string_view> skip(int levels = deepest);

    [[nodiscard]] std::optional<std::string> string();

    /// Passes over a value that is JSON in all its parts, so that its text can be handed on; its text.
    std::optional<std::string_view> verify();

    /// Reads an object: `on_member(name)` has to take the value, and says whether all is well.
    template <std::predicate<std::string&> OnMember>
    bool object(OnMember on_member);

    /// Reads an array: `on_element()` has to take the value, and says whether all is well.
    template <std::predicate<> OnElement>
    bool array(OnElement on_element);

    /// Builds a value. Of names that occur twice the last one counts; in an `ordered_json` both stay.
    template <class Json>
    bool value(Json& out);

  private:
    bool fail() noexcept {
        failed_ = true;
        return false;
    }
    bool take(char expected) noexcept;
    bool word(std::string_view expected) noexcept;
    bool skip_string() noexcept;
    bool skip_nested(int levels) noexcept;
    bool verified();
    bool escape(std::string& to);
    bool sequence(std::string& to);
    std::optional<unsigned> four_digits() noexcept;
    std::string_view word_or_number() noexcept;
    using number_value = std::variant<std::int64_t, std::uint64_t, double>;
    std::optional<number_value> number();

    char const* at_;
    char const* end_;
    int depth_ = 0;
    bool failed_ = false;
};

template <std::predicate<std::string&> OnMember>
bool json_cursor::object(OnMember on_member) {
    if (!take('{') || ++depth_ > deepest) return fail();
    if (peek() != '}') {
        do {
            auto name = string();
            if (!name || !take(':') || !on_member(*name)) return fail();
        } while (peek() == ',' && take(','));
    }
    --depth_;
    return take('}');
}

template <std::predicate<> OnElement>
bool json_cursor::array(OnElement on_element) {
    if (!take('[') || ++depth_ > deepest) return fail();
    if (peek() != ']') {
        do {
            if (!on_element()) return fail();
        } while (peek() == ',' && take(','));
    }
    --depth_;
    return take(']');
}

template <class Json>
bool json_cursor::value(Json& out) {
    using object_type = typename Json::object_t;
    switch (peek()) {
    case '{': {
        out = Json::object();
        auto& members = out.template get_ref<object_type&>();
        return object([&](std::string& name) {
            // An ordered object is a vector that searches itself before it adds: quadratic in what a server may send.
            if constexpr (requires { members.push_back(typename object_type::value_type(std::move(name), Json())); }) {
                members.push_back(typename object_type::value_type(std::move(name), Json()));
                return value(members.back().second);
            } else {
                return value(members[std::move(name)]);
            }
        });
    }
    case '[': {
        out = Json::array();
        auto& elements = out.template get_ref<typename Json::array_t&>();
        return array([&] { return value(elements.emplace_back()); });
    }
    case '"': {
        auto text = string();
        if (text) out = std::move(*text);
        return text.has_value();
    }
    case 't': out = true; return word("true");
    case 'f': out = false; return word("false");
    case 'n': out = nullptr; return word("null");
    default: {
        auto const found = number();
        if (found) std::visit([&out](auto n) { out = n; }, *found);
        return found.has_value();
    }
    }
}

/// The value that a whole text stands for; none where it is not JSON.
template <class Json = nlohmann::json>
[[nodiscard]] std::optional<Json> read_json(std::string_view text) {
    json_cursor cursor(text);
    std::optional<Json> value(std::in_place);
    if (!cursor.value(*value) || !cursor.finished()) value.reset();
    return value;
}

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/json_cursor.ipp>
#endif
