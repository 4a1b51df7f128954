#pragma once

#include <ipybox/core/utf8.hpp>
#include <ipybox/session/terminal_line.hpp>

#include <algorithm>
#include <charconv>

namespace ipybox::detail {

inline constexpr std::size_t longest_parameters = 16;
inline constexpr std::size_t widest_move = 500; ///< columns that one sequence moves by, at most

/// One search for each of the three: the C library's are quicker than a loop over all of them.
IPYBOX_DECL bool terminal_line::only_adds(std::string_view what) const noexcept {
    if (cursor_ != at_end || state_ != parsing::text) return false;
    auto const has = [what](char c) { return what.find(c) != std::string_view::npos; };
    return !has('\r') && !has('\b') && !has('\x1b');
}

/// The bytes of so many characters, from `at` on.
inline std::size_t bytes_of(std::string_view text, std::size_t at, std::size_t characters) noexcept {
    auto end = at;
    while (end < text.size() && characters > 0) {
        ++end;
        while (end < text.size() && continues_character(text[end])) ++end;
        --characters;
    }
    return end - at;
}

IPYBOX_DECL bool terminal_line::add(std::string& text, std::size_t& line, std::size_t firm, std::string_view what) {
    place at{text, line, firm};
    while (!what.empty()) {
        auto const c = what.front();
        switch (state_) {
        case parsing::text: {
            auto const end = std::min(what.find_first_of("\r\n\b\x1b"), what.size());
            if (end > 0)
                put(at, what.substr(0, end));
            else
                control(at, c);
            what.remove_prefix(std::max<std::size_t>(end, 1));
            continue;
        }
        case parsing::escape:
            state_ = parsing::text;
            parameters_.clear();
            if (c == '[')
                state_ = parsing::sequence;
            else if (std::string_view("]PX^_").find(c) != std::string_view::npos)
                state_ = parsing::string;
            else if (c >= 0x20 && c < 0x30)
                state_ = parsing::escape; // one more is to come
            else if (c < 0x30 || c > 0x7e)
                continue; // not part of it
            break;
        case parsing::sequence:
            if (c >= 0x20 && c < 0x40) {
                if (parameters_.size() < longest_parameters) parameters_.push_back(c);
                break;
            }
            state_ = parsing::text;
            if (c < 0x40 || c > 0x7e) continue;
            sequence(at, c);
            break;
        case parsing::string:
            if (c == '\a') state_ = parsing::text;
            if (c == '\x1b') state_ = parsing::end_of_string;
            if (c != '\n') break;
            state_ = parsing::text; // it was never ended
            continue;
        case parsing::end_of_string:
            state_ = c == '\\' ? parsing::text : parsing::escape;
            if (c != '\\') continue;
            break;
        }
        what.remove_prefix(1);
    }
    if (cursor_ != at_end && line + cursor_ >= text.size()) cursor_ = at_end;
    return at.replaced;
}

/// Something is about to be replaced: whether that may not be, and the line is continued on a new one.
IPYBOX_DECL bool terminal_line::begins_new_line(place& at) {
    at.replaced = true;
    if (at.firm <= at.line) return false;
    at.text += '\n';
    at.line = at.text.size();
    cursor_ = at_end;
    return true;
}

IPYBOX_DECL void terminal_line::put(place& at, std::string_view run) {
    auto const from = cursor_ == at_end ? at.text.size() : at.line + cursor_;
    if (from >= at.text.size() || begins_new_line(at)) {
        at.text += run;
        cursor_ = at_end;
        return;
    }
    at.text.replace(from, bytes_of(at.text, from, count_characters(run)), run);
    cursor_ += run.size();
}

IPYBOX_DECL void terminal_line::control(place& at, char c) {
    switch (c) {
    case '\n':
        at.text += '\n';
        at.line = at.text.size();
        cursor_ = at_end;
        break;
    case '\r': cursor_ = 0; break;
    case '\b': move_to(at, std::max<std::size_t>(column(at), 1) - 1); break;
    default: state_ = parsing::escape; break;
    }
}

IPYBOX_DECL void terminal_line::sequence(place& at, char final) {
    switch (final) {
    case 'K': erase(at); break;
    case 'C': move_by(at, std::max<std::size_t>(number(1), 1)); break;
    case 'D': move_to(at, column(at) - std::min(column(at), std::max<std::size_t>(number(1), 1))); break;
    case 'G': move_to(at, std::max<std::size_t>(number(1), 1) - 1); break;
    default: break; // colours, and what moves out of the line
    }
}

/// Erases the end of the line, its beginning or all of it.
IPYBOX_DECL void terminal_line::erase(place& at) {
    auto const from = std::min(at.text.size(), cursor_ == at_end ? at.text.size() : at.line + cursor_);
    auto const kind = number(0);
    if ((kind == 0 ? from : at.line) >= at.text.size() || begins_new_line(at)) return;
    if (kind == 1) {
        at.text.replace(at.line, from - at.line, std::string(column(at), ' '));
        return;
    }
    at.text.resize(kind == 0 ? from : at.line);
    cursor_ = at_end;
}

IPYBOX_DECL std::size_t terminal_line::column(place const& at) const noexcept {
    return count_characters(std::string_view(at.text).substr(at.line, cursor_));
}

IPYBOX_DECL void terminal_line::move_to(place const& at, std::size_t column) {
    auto const bytes = bytes_of(at.text, at.line, column);
    cursor_ = at.line + bytes >= at.text.size() ? at_end : bytes;
}

/// Moves on, over what is there and beyond it.
IPYBOX_DECL void terminal_line::move_by(place& at, std::size_t columns) {
    auto const wanted = column(at) + columns;
    move_to(at, wanted);
    if (cursor_ == at_end) at.text.append(wanted - std::min(wanted, column(at)), ' ');
}

IPYBOX_DECL std::size_t terminal_line::number(std::size_t absent) const noexcept {
    std::size_t value = absent;
    (void)std::from_chars(parameters_.data(), parameters_.data() + parameters_.size(), value);
    return std::min(value, widest_move);
}

} // namespace ipybox::detail
