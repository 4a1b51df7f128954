#pragma once

#include <ipybox/core/result.hpp>

#include <nlohmann/json.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::mcp {

/**
 * \brief JSON that is handed on as it came: its text on one line, with the order of members and numbers of any size.
 * \details The text is valid JSON and valid UTF-8: halves of surrogate pairs, and bytes that are not UTF-8, have become
 * U+FFFD. It has no blanks outside of strings. Values are built of it only when it is looked into.
 */
class raw_json {
  public:
    /// The treatment of an object with two members of the same name. Those who read such a text may not mean the same
    /// one.
    enum class duplicate_names { kept, refused };

    /// Digits of the longest integer: Python reads up to 4300.
    static constexpr std::size_t longest_integer = 4000;

    /**
     * \brief Reads a whole text.
     * \par Errors errc::invalid_argument — what is wrong with it ("is nested too deeply"): not JSON, deeper than
     * `json_cursor::deepest`, a number that is too large, a name that occurs twice
     */
    [[nodiscard]] static result<raw_json> read(std::string_view text, duplicate_names same = duplicate_names::kept);

    /// The same of a text that may be large: it is not copied where it is written as such texts are.
    [[nodiscard]] static result<raw_json> of_text(std::string text, duplicate_names same = duplicate_names::kept);

    /// \par Errors errc::invalid_argument — as for `write_json`
    [[nodiscard]] static result<raw_json> of(nlohmann::ordered_json const& value);

    /// The same with members that are sorted by name. A template, so that braces mean an `ordered_json`: converting one
    /// into the other has no bound.
    template <std::same_as<nlohmann::json> Json>
    [[nodiscard]] static result<raw_json> of(Json const& value) {
        return of_sorted(value);
    }

    /// Copies share it. `null`, where it was moved from.
    [[nodiscard]] std::string const& text() const noexcept { return text_ ? *text_ : null_text(); }
    /// The text, without a copy where no other shares it.
    [[nodiscard]] std::string take() && { return text_.use_count() == 1 ? std::move(*text_) : text(); }

    /// The value, whose members have the order of the text. Integers beyond 64 bits are the nearest floating-point
    /// numbers.
    [[nodiscard]] nlohmann::ordered_json value() const;

    /// Whether there are integers beyond 64 bits, which `value` only has rounded.
    [[nodiscard]] bool has_large_integers() const noexcept { return has_large_integers_; }

    /// Whether it is an object.
    [[nodiscard]] bool is_object() const noexcept { return text().starts_with('{'); }

  private:
    [[nodiscard]] static result<raw_json> of_sorted(nlohmann::json const& value);
    [[nodiscard]] static std::string const& null_text() noexcept;

    raw_json(std::string text, bool has_large_integers)
        : text_(std::make_shared<std::string>(std::move(text))), has_large_integers_(has_large_integers) {}

    std::shared_ptr<std::string> text_;
    bool has_large_integers_;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/raw_json.ipp>
#endif
