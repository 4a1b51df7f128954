#pragma once

#include <ipybox/packages/package_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace ipybox::detail {

inline constexpr std::array<std::string_view, 9> package_order_options = {
    "-q", "--quiet", "-v", "--verbose", "-U", "--upgrade", "--pre", "--no-deps", "--no-color"};

inline bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Reads a requirement by name (PEP 508): a name, extras, versions and a marker. Without `@`, `/` and `:` it is neither
/// a URL nor a path.
class named_requirement {
  public:
    explicit named_requirement(std::string_view word) : rest_(word) {}

    [[nodiscard]] bool fits() { return name() && extras() && versions() && marker(); }

    /// Why it does not, where that is known.
    [[nodiscard]] std::string_view why() const noexcept { return why_; }

  private:
    void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        blanks();
        return true;
    }

    /// Letters and digits, and these between them.
    bool word(std::string_view others) {
        auto const is_part = [others](char c) { return is_letter_or_digit(c) || others.find(c) != others.npos; };
        std::size_t length = 0;
        while (length < rest_.size() && is_part(rest_[length])) ++length;
        bool const is_word = length > 0 && is_letter_or_digit(rest_.front());
        last_ = rest_.substr(0, length);
        rest_.remove_prefix(length);
        blanks();
        return is_word;
    }

    bool name() { return word("._-") && is_letter_or_digit(last_.back()); }

    bool extras() {
        if (!take('[')) return true;
        do {
            if (!rest_.starts_with(']') && !word("._-")) return false;
        } while (take(','));
        return take(']');
    }

    bool versions() {
        bool const is_in_brackets = take('(');
        while (!rest_.empty() && std::string_view("<>=!~").find(rest_.front()) != std::string_view::npos) {
            auto const length = std::min(rest_.find_first_not_of("<>=!~"), rest_.size());
            static constexpr std::array<std::string_view, 8> operators{"==", "===", "!=", "<=", ">=", "<", ">", "~="};
            if (std::ranges::find(operators, rest_.substr(0, length)) == operators.end()) return false;
            rest_.remove_prefix(length);
            blanks();
            bool const is_number =
                word("._-*+!") && (last_.front() == 'v' || (last_.front() >= '0' && last_.front() <= '9'));
            if (!is_number) {
                why_ = "; a version begins with a digit, and without one the newest is installed";
                return false;
            }
            if (!take(',')) break;
        }
        return !is_in_brackets || take(')');
    }

    bool marker() {
        if (rest_.empty()) return true;
        if (!rest_.starts_with(';')) {
            if (is_letter_or_digit(rest_.front())) why_ = "; name one package at a time";
            return false;
        }
        return std::ranges::all_of(rest_, [](char c) {
            return is_letter_or_digit(c) || std::string_view(" ._-<>=!~*+;()'\"").find(c) != std::string_view::npos;
        });
    }

    std::string_view rest_;
    std::string_view last_;
    std::string_view why_;
};

IPYBOX_DECL result<package_order> read_package_order(std::span<std::string const> words) {
    package_order order;
    for (auto const& word : words) {
        if (std::ranges::find(package_order_options, word) != package_order_options.end())
            order.options.push_back(word);
        else if (word.starts_with('-'))
            return failure(errc::invalid_argument, "pip's option " + word +
                                                       " cannot be used here: where packages come from, and where they "
                                                       "go, is what the package layer says");
        else if (named_requirement read(word); read.fits())
            order.requirements.push_back(word);
        else
            return failure(errc::invalid_argument,
                           "\"" + word +
                               "\" does not name a package: write its name, with a version where you want "
                               "one (numpy==2.1); paths and URLs cannot be installed" +
                               std::string(read.why()));
    }
    if (order.requirements.empty()) return failure(errc::invalid_argument, "no package is named: pip install NAME");
    return order;
}

} // namespace ipybox::detail
