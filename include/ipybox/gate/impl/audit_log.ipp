#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/random_hex.hpp>
#include <ipybox/core/sha256.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/os/write_all.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/subject_json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace ipybox {
namespace detail {

/// RFC 3339 in UTC, to the millisecond.
inline std::string utc_text(std::chrono::system_clock::time_point when) {
    using namespace std::chrono;
    auto const time = floor<milliseconds>(when);
    auto const day = floor<days>(time);
    year_month_day const date(day);
    hh_mm_ss const clock(time - day);
    char text[40];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
    return text;
}

inline double milliseconds_of(std::chrono::steady_clock::duration time) {
    auto const microseconds = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    return static_cast<double>(microseconds) / 1000;
}

} // namespace detail

IPYBOX_DECL result<std::shared_ptr<audit_log>> audit_log::open(options how) {
    // A named pipe without a reader is an error, and nothing to wait for.
    int const flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    os::unique_fd file(::open(how.file.c_str(), flags, 0600));
    if (!file || ::fcntl(file.get(), F_SETFL, O_APPEND) != 0) {
        auto const number = errno;
        auto const why = detail::system_failure("opening the audit log " + how.file.string(), number);
        return failure(errc::audit_failed, why.text());
    }
    return std::shared_ptr<audit_log>(new audit_log(std::move(how), std::move(file)));
}

IPYBOX_DECL audit_log::audit_log(options how, os::unique_fd file)
    : options_(std::move(how)), run_(random_hex(8)), file_(std::move(file)) {}

IPYBOX_DECL nlohmann::ordered_json audit_log::record(std::string_view what, std::uint64_t id) const {
    auto const now = options_.clock ? options_.clock() : std::chrono::system_clock::now();
    return {{"record", what}, {"run", run_}, {"id", id}, {"time", detail::utc_text(now)}};
}

/// Replaces a member that is too long by two that say what it is.
IPYBOX_DECL void audit_log::bound(nlohmann::ordered_json& record, char const* name) const {
    auto const member = record.find(name);
    if (member == record.end()) return;
    std::string dumped;
    if (!member->is_string()) dumped = json_text(*member);
    auto const& text = member->is_string() ? member->get_ref<std::string const&>() : dumped;
    if (text.size() <= options_.longest_value) return;
    nlohmann::ordered_json const digest = {{"sha256", sha256_hex(text)}, {"bytes", text.size()}};
    record[std::string(name) + "_digest"] = digest;
    record.erase(name);
}

IPYBOX_DECL result<void> audit_log::request(approval_subject const& subject, std::string_view session) {
    auto line = record("request", subject.id);
    if (!session.empty()) line["session"] = detail::text_to_json(session);
    line.update(detail::subject_to_json(subject));
    for (auto const* const name : {"arguments", "exact_arguments", "argv", "env", "input"}) bound(line, name);
    if (!subject.cell_id.empty()) line["cell"] = detail::text_to_json(subject.cell_id);
    if (subject.code.empty()) return write(line);

    // A cell may ask a thousand times; its code is recorded once.
    auto const digest = sha256_hex(subject.code);
    line["code_sha256"] = digest;
    if (!knows_code(digest)) {
        line["code"] = detail::text_to_json(subject.code);
        bound(line, "code");
    }
    auto written = write(line);
    if (written) learn_code(digest);
    return written;
}

IPYBOX_DECL bool audit_log::knows_code(std::string const& digest) {
    std::lock_guard const lock(mutex_);
    return known_code_.contains(digest);
}

IPYBOX_DECL void audit_log::learn_code(std::string const& digest) {
    constexpr std::size_t remembered = 1024;
    std::lock_guard const lock(mutex_);
    if (known_code_.contains(digest)) return;
    if (known_code_.size() == remembered) known_code_.clear();
    known_code_.insert(digest);
}

IPYBOX_DECL result<void> audit_log::decision(std::uint64_t id, detail::verdict const& said) {
    auto line = record("decision", id);
    line["decision"] = said.accepted() ? "accept" : "reject";
    line["by"] = to_string(said.by);
    line["waited_ms"] = detail::milliseconds_of(said.waited);
    if (!said.detail.empty()) line["detail"] = said.detail;
    if (!said.accepted()) line["reason"] = detail::text_to_json(said.made.reason());
    if (auto const* edited = said.made.edited_arguments()) {
        line["arguments"] = *edited;
        bound(line, "arguments");
    }
    if (auto const* granted = said.made.granted()) line["grant"] = granted->to_json();
    if (said.granted) line["grant_number"] = *said.granted;
    return write(line);
}

IPYBOX_DECL result<void> audit_log::outcome(std::uint64_t id, detail::action_outcome const& ended) {
    auto line = record("outcome", id);
    line["outcome"] = ended.failure ? "failed" : "done";
    if (ended.failure) line["failure"] = ended.why.empty() ? ended.failure.message() : ended.why;
    if (ended.status && ended.status->code) line["exit_code"] = *ended.status->code;
    if (ended.status && ended.status->signal) line["exit_signal"] = *ended.status->signal;
    if (ended.result_size) line["result_bytes"] = *ended.result_size;
    if (ended.sent) line["sent_bytes"] = *ended.sent;
    if (ended.received) line["received_bytes"] = *ended.received;
    line["duration_ms"] = detail::milliseconds_of(ended.duration);
    return write(line);
}

IPYBOX_DECL result<void> audit_log::write(nlohmann::ordered_json const& record) {
    auto const failed = append(json_text(record) + '\n');
    if (!failed) return {};
    if (!options_.on_failure) return failure(*failed);
    options_.on_failure(*failed);
    return {};
}

IPYBOX_DECL std::optional<error> audit_log::append(std::string line) {
    std::lock_guard const lock(mutex_);
    // The rest of a record that could not be finished stays a line of its own.
    if (torn_) line.insert(line.begin(), '\n');
    std::string_view rest = line;
    auto const failed = [this](char const* doing, int number) {
        auto const why =
            detail::system_failure(std::string(doing) + " the audit log " + options_.file.string(), number);
        return error(errc::audit_failed, why.text());
    };
    int const broken = os::write_all(file_.get(), rest);
    if (rest.size() < line.size()) torn_ = !rest.empty();
    if (broken != 0) return failed("writing", broken);
    if (options_.sync && ::fdatasync(file_.get()) != 0) return failed("syncing", errno);
    return std::nullopt;
}

} // namespace ipybox
