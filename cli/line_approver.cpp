#include <ipybox/approval/decision.hpp>

#include <cli/line_approver.hpp>
#include <cli/typed_line.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <utility>

namespace ipybox::cli {
namespace {

constexpr auto no_more_lines = "no decision can come: standard input has ended";

/// From a thread of its own: a complaint that cannot be written is let go.
void complain(std::string text) {
    text = "ipybox: " + text + '\n';
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text.data(), text.size());
}

} // namespace

line_approver::line_approver() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), reader_([this] { read(); }) {}

line_approver::~line_approver() {
    ::eventfd_write(wake_.get(), 1);
    reader_.join();
}

void line_approver::decide(approval_request request) {
    std::scoped_lock const lock(mutex_);
    if (over_)
        request.reject(no_more_lines);
    else
        waiting_.insert_or_assign(request.id(), std::move(request));
}

void line_approver::forget() {
    std::scoped_lock const lock(mutex_);
    waiting_.clear();
}

void line_approver::read() {
    for (;;) {
        auto const typed = read_typed_line(wake_.get());
        if (typed.by == typed_line::end::woken) return;
        if (typed.text.find_first_not_of(" \t\r") != std::string::npos) take(typed.text);
        if (typed.by == typed_line::end::end_of_file) break;
    }
    std::scoped_lock const lock(mutex_);
    over_ = true;
    for (auto const& [id, request] : waiting_) request.reject(no_more_lines);
    waiting_.clear();
}

void line_approver::take(std::string const& line) {
    auto const read = decision::from_json(line);
    if (!read) return complain("not a decision: " + read.error().text());
    std::optional<approval_request> answered;
    {
        std::scoped_lock const lock(mutex_);
        auto const found = waiting_.find(read->id);
        if (found != waiting_.end()) {
            answered = std::move(found->second);
            waiting_.erase(found);
        }
    }
    if (!answered || !answered->answer(read->made))
        complain("nothing waits for a decision about " + std::to_string(read->id));
}

} // namespace ipybox::cli
