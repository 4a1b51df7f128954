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

    /// Characters of the longest number: Python reads integers of up to 4300 digits.
    static constexpr std::size_t longest_number = 4000;

    /// `null`.
    raw_json() noexcept : rounds_numbers_(false) {}

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

    /// The value, whose members have the order of the text. Integers beyond 64 bits, and numbers with more digits than
    /// a floating-point number keeps, are the nearest floating-point numbers.
    [[nodiscard]] nlohmann::ordered_json value() const;

    /// Whether there are numbers that `value` only has rounded.
    [[nodiscard]] bool rounds_numbers() const noexcept { return rounds_numbers_; }

    /// Whether it is an object.
    [[nodiscard]] bool is_object() const noexcept { return text().starts_with('{'); }

  private:
    [[nodiscard]] static result<raw_json> of_sorted(nlohmann::json const& value);
    [[nodiscard]] static std::string const& null_text() noexcept;

    raw_json(std::string text, bool rounds_numbers)
        : text_(std::make_shared<std::string>(std::move(text))), rounds_numbers_(rounds_numbers) {}

    std::shared_ptr<std::string> text_;
    bool rounds_numbers_;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/raw_json.ipp>
#endif
