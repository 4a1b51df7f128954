#pragma once

#include <ipybox/approval/approval_request.hpp>
#include <ipybox/approval/grant.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

namespace ipybox {
namespace detail {

/// Shared by all copies of a request.
class approval_handle {
  public:
    approval_handle() : answer_(std::make_shared<approval_answer>()) {}
    approval_handle(approval_handle const&) = delete;
    approval_handle& operator=(approval_handle const&) = delete;
    ~approval_handle() { answer_->decide(decision::reject("nobody answered the approval request")); }

    std::shared_ptr<approval_answer> const& answer() const noexcept { return answer_; }

  private:
    std::shared_ptr<approval_answer> answer_;
};

/// Characters that show nothing themselves but change what is seen around them.
IPYBOX_DECL bool is_deceptive(char32_t c) {
    constexpr std::array<std::pair<char32_t, char32_t>, 9> ranges{{
        {0x00, 0x1F},      // C0 controls: escape sequences, line ends
        {0x7F, 0x9F},      // DEL, C1 controls
        {0xAD, 0xAD},      // soft hyphen
        {0x61C, 0x61C},    // Arabic letter mark
        {0x200B, 0x200F},  // zero width, direction marks
        {0x2028, 0x202E},  // line separators, direction overrides
        {0x2060, 0x206F},  // invisible operators, direction isolates
        {0xFEFF, 0xFEFF},  // zero width no-break space
        {0xE0000, 0xE0FFF} // tags, variation selectors
    }};
    return std::any_of(ranges.begin(), ranges.end(),
                       [c](auto const& range) { return range.first <= c && c <= range.second; });
}

/// Writes text of the kernel so that it cannot pretend to be something else.
IPYBOX_DECL void write_visibly(std::ostream& out, std::string_view text) {
    auto const write_number = [&out](char kind, char32_t value, int digits) {
        out << '\\' << kind;
        while (digits-- > 0) out << "0123456789abcdef"[value >> (4 * digits) & 0xF];
    };
    while (!text.empty()) {
        auto const c = first_character(text);
        if (!c.valid) {
            for (char const byte : c.bytes) write_number('x', static_cast<unsigned char>(byte), 2);
        } else if (!is_deceptive(c.code)) {
            out << c.bytes;
        } else if (c.code == '\n') {
            out << "\\n";
        } else if (c.code < 0x100) {
            write_number('x', c.code, 2);
        } else if (c.code < 0x10000) {
            write_number('u', c.code, 4);
        } else {
            write_number('U', c.code, 8);
        }
        text.remove_prefix(c.bytes.size());
    }
}

/// Writes a word as one would type it in a shell.
IPYBOX_DECL void write_word(std::ostream& out, std::string_view word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) {
        out << word;
        return;
    }
    out << '\'';
    for (auto quote = word.find('\''); quote != std::string_view::npos; quote = word.find('\'')) {
        write_visibly(out, word.substr(0, quote));
        out << "'\\''";
        word.remove_prefix(quote + 1);
    }
    write_visibly(out, word);
    out << '\'';
}

} // namespace detail

IPYBOX_DECL approval_request::approval_request(approval_subject subject)
    : approval_request(std::make_shared<approval_subject const>(std::move(subject))) {}

IPYBOX_DECL approval_request::approval_request(std::shared_ptr<approval_subject const> subject)
    : subject_(std::move(subject)), handle_(std::make_shared<detail::approval_handle const>()) {}

IPYBOX_DECL nlohmann::json const& approval_request::arguments() const noexcept {
    static nlohmann::json const none;
    return subject_->arguments ? *subject_->arguments : none;
}

IPYBOX_DECL bool approval_request::accept() const { return answer(decision::accept()); }

IPYBOX_DECL bool approval_request::accept(nlohmann::json edited_arguments) const {
    return answer(decision::accept(std::move(edited_arguments)));
}

IPYBOX_DECL bool approval_request::accept_and_grant(grant const& given) const {
    return answer(decision::accept().and_grant(given));
}

IPYBOX_DECL bool approval_request::reject(std::string reason, when_repeated again) const {
    return answer(decision::reject(std::move(reason), again));
}

IPYBOX_DECL bool approval_request::answer(decision decision) const {
    if (!handle_) return false; // moved from
    if (decision.edited_arguments() && !subject_->arguments) {
        decision =
            decision::reject("accepted with edited arguments, but a " + std::string(to_string(kind())) + " has none");
    }
    return handle_->answer()->decide(std::move(decision));
}

IPYBOX_DECL std::shared_ptr<detail::approval_answer> approval_request::pending_answer() const {
    return handle_->answer();
}

IPYBOX_DECL std::ostream& operator<<(std::ostream& out, approval_request const& request) {
    auto const& subject = *request.subject_;
    out << to_string(subject.kind);
    auto separator = ' ';
    for (auto const* name : {&subject.server, &subject.tool}) {
        if (name->empty()) continue;
        out << std::exchange(separator, '.');
        detail::write_visibly(out, *name);
    }
    if (subject.arguments) {
        out << ' ';
        detail::write_visibly(out, json_text(*subject.arguments));
    }
    for (auto const& word : subject.argv) {
        out << ' ';
        detail::write_word(out, word);
    }

    auto opening = " (";
    if (!subject.cwd.empty()) {
        out << std::exchange(opening, ", ") << "in ";
        detail::write_word(out, subject.cwd.native());
    }
    for (auto const& [name, value] : subject.env) {
        out << std::exchange(opening, ", ") << (value ? "" : "without ");
        detail::write_word(out, name);
        if (!value) continue;
        out << '=';
        detail::write_word(out, *value);
    }
    if (!subject.input.empty()) {
        out << std::exchange(opening, ", ") << "with input ";
        detail::write_word(out, subject.input);
    }
    if (*opening == ',') out << ')';
    return out;
}

} // namespace ipybox
