#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/text_tail.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/first_words.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/rpc_machine.hpp>

#include <algorithm>
#include <cctype>

namespace ipybox::mcp::detail {

/// Lines in which an answer is looked for.
inline constexpr int most_judged_lines = 200;

inline bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r") == text.npos; }

/// Whether a line is the header of a message of the Language Server Protocol.
inline bool is_length_header(std::string_view line) {
    constexpr std::string_view name = "content-length:";
    if (line.size() <= name.size()) return false;
    auto const same = [](char expected, char c) { return std::tolower(static_cast<unsigned char>(c)) == expected; };
    if (!std::equal(name.begin(), name.end(), line.begin(), same)) return false;
    auto const number = line.find_first_not_of(" \t", name.size());
    return number != line.npos && line[number] >= '0' && line[number] <= '9';
}

/// The text of the answer that begins with this brace; empty if there is no whole answer.
inline std::string_view answer_at(std::string_view text) {
    auto const value = json_cursor(text).skip(json_cursor::any_depth);
    auto const message = value ? read_rpc_message(*value) : std::nullopt;
    bool const is_answer =
        message && (message->what == rpc_message::kind::result || message->what == rpc_message::kind::error);
    return is_answer ? *value : std::string_view();
}

/// The way in which messages are written in a text whose whole lines are no messages; empty if there is none.
inline std::string_view framing_of(std::string_view text) {
    using namespace std::string_view_literals;
    if (text.find("j\0s\0o\0n\0r\0p\0c"sv) != text.npos) return "writes its messages in UTF-16";
    if (text.find("jsonrpc") == text.npos) return {};
    bool header = false;       // a length came
    bool header_ended = false; // and an empty line
    for (int lines = 0; !text.empty() && lines < most_judged_lines; ++lines) {
        auto const line = text.substr(0, text.find('\n'));
        auto const brace = line.find('{');
        if (header_ended && brace != line.npos && is_blank(line.substr(0, brace)))
            return "puts `Content-Length:` before its messages, as the Language Server Protocol does";
        header_ended = (header || header_ended) && is_blank(line);
        header = is_length_header(line) || (header && line.find(':') != line.npos);
        if (brace != line.npos) {
            auto const answer = answer_at(text.substr(brace));
            if (answer.find('\n') != answer.npos) return "writes its messages over several lines";
            if (!answer.empty())
                return is_blank(line.substr(0, brace)) ? "does not end the lines of its messages"
                                                       : "writes its messages behind other text on the same line";
        }
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return {};
}

IPYBOX_DECL void first_words::on_line(std::string_view line) {
    if (over_) return;
    if (!rpc_messages_of(line).empty()) {
        over_ = true;
        said_ = fault_ = {};
        return;
    }
    said_.resize(said_.size() - rest_);
    rest_ = 0;
    ipybox::detail::append_tail(said_, line, most_kept);
    said_.push_back('\n');
}

IPYBOX_DECL void first_words::on_rest(std::string_view unfinished) {
    if (over_ || unfinished.size() > most_kept) return; // a long message is on its way
    said_.resize(said_.size() - rest_);
    ipybox::detail::append_tail(said_, unfinished, most_kept);
    rest_ = unfinished.size();
    if (!fault_.empty()) return;
    fault_ = framing_of(said_);
    if (!fault_.empty()) fault_ += "; over its standard streams each line is one message in UTF-8";
}

IPYBOX_DECL std::string first_words::quote() const {
    if (said_.find_first_not_of(" \t\r\n") == said_.npos) return {};
    constexpr std::size_t longest = 300;
    std::string text = said_;
    if (text.size() > 2 * longest)
        text = text.substr(0, whole_characters(text, longest)) + "…" + text.substr(text.size() - longest);
    while (text.ends_with('\n')) text.pop_back();
    std::string quoted = "on standard output, where only messages belong: ";
    append_string(quoted, text);
    return quoted + "\n";
}

} // namespace ipybox::mcp::detail
