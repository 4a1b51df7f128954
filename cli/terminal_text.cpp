#include <ipybox/core/utf8.hpp>

#include <cli/terminal_text.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::cli {
namespace {

/// No colour has more parameters; what is longer is left out.
constexpr std::size_t longest_parameters = 256;

/// Whether the first bytes of a character are there, but not all.
bool is_cut(std::string_view text, utf8_character const& first) {
    auto const lead = static_cast<unsigned char>(text.front());
    std::size_t const size = lead < 0xC2 || lead > 0xF4 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return !first.valid && first.bytes.size() == text.size() && text.size() < size;
}

} // namespace

std::string terminal_text::operator()(std::string_view given) {
    auto const all = std::exchange(incomplete_, {}).append(given);
    std::string_view text = all;
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        auto const first = first_character(text);
        if (is_cut(text, first)) {
            incomplete_ = text;
            break;
        }
        take(first.code, first.valid ? first.bytes : std::string_view("\xef\xbf\xbd"), out);
        text.remove_prefix(first.bytes.size());
    }
    return out;
}

void terminal_text::take(char32_t code, std::string_view bytes, std::string& out) {
    bool const is_cancel = code == 0x18 || code == 0x1A;
    switch (state_) {
    case state::ground: return take_ground(code, bytes, out);
    case state::escape:
        if (code == '[') {
            state_ = state::sequence;
        } else if (code == ']' || code == 'P' || code == 'X' || code == '^' || code == '_') {
            state_ = state::string;
        } else if (code >= ' ' && code <= '/') {
            state_ = state::intermediate;
        } else {
            state_ = state::ground;
            if (code < ' ' && !is_cancel) take_ground(code, bytes, out);
        }
        return;
    case state::intermediate:
        if (code >= ' ' && code <= '/') return;
        state_ = state::ground;
        if (code < ' ' && !is_cancel) take_ground(code, bytes, out);
        return;
    case state::sequence:
        if (code >= ' ' && code <= '?') {
            if (parameters_.size() <= longest_parameters) parameters_ += static_cast<char>(code);
        } else {
            state_ = state::ground;
            if (code >= '@' && code <= '~')
                end_sequence(static_cast<char>(code), out);
            else if (!is_cancel)
                take_ground(code, bytes, out);
        }
        return;
    case state::string:
        if (code == 0x1B)
            state_ = state::string_escape;
        else if (code == 0x07 || code == 0x9C || is_cancel)
            state_ = state::ground;
        else if (code == '\n')
            state_ = state::ground, out += '\n'; // one that is never ended shall not swallow all that follows
        return;
    case state::string_escape:
        state_ = state::ground;
        if (code != '\\') { // the sequence that ends it
            take_ground(0x1B, {}, out);
            take(code, bytes, out);
        }
        return;
    }
}

void terminal_text::take_ground(char32_t code, std::string_view bytes, std::string& out) {
    if (code == 0x1B) {
        state_ = state::escape;
        parameters_.clear();
    } else if (code == 0x9B) {
        state_ = state::sequence;
        parameters_.clear();
    } else if (code == 0x90 || code == 0x98 || (code >= 0x9D && code <= 0x9F)) {
        state_ = state::string;
    } else if (code < ' ') {
        if (code >= 0x07 && code <= 0x0D && code != 0x0B && code != 0x0C) out += static_cast<char>(code);
    } else if (code < 0x7F || code > 0x9F) {
        out += bytes;
    }
}

void terminal_text::end_sequence(char last, std::string& out) {
    bool const has_numbers_only = parameters_.size() <= longest_parameters &&
                                  std::all_of(parameters_.begin(), parameters_.end(),
                                              [](char c) { return (c >= '0' && c <= '9') || c == ';' || c == ':'; });
    if (has_numbers_only && (last == 'm' || last == 'K')) out.append("\x1b[").append(parameters_) += last;
}

} // namespace ipybox::cli
