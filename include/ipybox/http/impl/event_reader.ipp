#pragma once

#include <ipybox/http/event_reader.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ipybox::http {

IPYBOX_DECL void event_reader::begin() {
    line_.clear();
    after_return_ = false;
    begins_stream_ = true;
    type_.clear();
    data_.clear();
    has_data_ = false;
    id_.reset();
}

IPYBOX_DECL result<std::vector<event>> event_reader::read(std::string_view piece) {
    std::vector<event> events;
    while (!piece.empty()) {
        if (std::exchange(after_return_, false) && piece.front() == '\n') {
            piece.remove_prefix(1);
            continue;
        }
        auto const end = piece.find_first_of("\r\n");
        auto const part = piece.substr(0, end);
        if (line_.size() + data_.size() + part.size() > longest_)
            return failure(errc::message_too_large,
                           "sent an event of more than " + std::to_string(longest_) + " bytes");
        if (end == std::string_view::npos) {
            line_.append(part);
            break;
        }
        after_return_ = piece[end] == '\r';
        piece.remove_prefix(end + 1);
        if (line_.empty()) {
            take_line(part, events);
        } else {
            line_.append(part);
            take_line(std::exchange(line_, {}), events);
        }
    }
    return events;
}

IPYBOX_DECL void event_reader::take_line(std::string_view line, std::vector<event>& events) {
    if (std::exchange(begins_stream_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (!line.empty()) {
        auto const colon = line.find(':');
        auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
        if (value.starts_with(' ')) value.remove_prefix(1);
        return take_field(line.substr(0, colon), value);
    }
    // The end of an event. One without data is dispatched to no one, and its id counts: servers begin with such a one.
    if (id_) last_id_ = *std::exchange(id_, std::nullopt);
    auto type = std::exchange(type_, {});
    auto data = std::exchange(data_, {});
    if (std::exchange(has_data_, false))
        events.push_back({type.empty() ? "message" : std::move(type), std::move(data)});
}

IPYBOX_DECL void event_reader::take_field(std::string_view name, std::string_view value) {
    if (name == "data") {
        if (std::exchange(has_data_, true)) data_.push_back('\n');
        data_.append(value);
    } else if (name == "event") {
        type_ = value;
    } else if (name == "id") {
        constexpr std::size_t longest_id = 4096; // it goes into a header field
        if (value.size() <= longest_id && value.find('\0') == std::string_view::npos) id_ = value;
    } else if (name == "retry") {
        constexpr std::size_t most_digits = 9;
        bool const is_number = !value.empty() && value.size() <= most_digits &&
                               value.find_first_not_of("0123456789") == std::string_view::npos;
        std::int64_t milliseconds = 0;
        if (is_number) {
            std::from_chars(value.data(), value.data() + value.size(), milliseconds);
            retry_ = std::chrono::milliseconds(milliseconds);
        }
    }
}

} // namespace ipybox::http
