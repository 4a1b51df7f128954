#include <ipybox/approval/grant.hpp>

#include <cli/terminal_approver.hpp>
#include <cli/typed_line.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <utility>

namespace ipybox::cli {
namespace {

decision decision_for(std::string const& typed, approval_request const& request) {
    if (typed == "y" || typed == "yes") return decision::accept();
    if (typed == "a" || typed == "always") return decision::accept().and_grant(grant::exactly(*request.subject()));
    return decision::reject(typed.empty() || typed == "n" || typed == "no" ? "" : typed);
}

} // namespace

terminal_approver::terminal_approver() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

terminal_approver::~terminal_approver() {
    {
        std::scoped_lock const lock(mutex_);
        over_ = true;
    }
    forget();
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
}

void terminal_approver::decide(approval_request request) {
    std::scoped_lock const lock(mutex_);
    waiting_.push_back(std::move(request));
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    changed_.notify_all();
}

void terminal_approver::forget() {
    std::unique_lock lock(mutex_);
    waiting_.clear();
    if (!asking_) return;
    ::eventfd_write(wake_.get(), 1);
    changed_.wait(lock, [this] { return !asking_; });
    eventfd_t ignored;
    ::eventfd_read(wake_.get(), &ignored);
}

void terminal_approver::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
        if (over_) return;
        auto const request = std::move(waiting_.front());
        waiting_.pop_front();
        asking_ = true;
        lock.unlock();
        ask(request);
        lock.lock();
        asking_ = false;
        changed_.notify_all();
    }
}

void terminal_approver::ask(approval_request const& request) {
    std::ostringstream question;
    question << request << "\n[y]es, [n]o, [a]lways in this session, or why not: ";
    auto const text = std::move(question).str();
    // A question that cannot be written can still be answered.
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text.data(), text.size());
    auto const typed = read_typed_line(wake_.get());
    if (typed.by == typed_line::end::line)
        request.answer(decision_for(typed.text, request));
    else
        request.reject("nobody answered");
}

} // namespace ipybox::cli
