#pragma once

#include <ipybox/app/action_question.hpp>
#include <ipybox/app/call_questions.hpp>
#include <ipybox/async/emit_cancellation.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <exception>
#include <utility>

namespace ipybox {

struct call_questions::question {
    explicit question(approval_request r) : request(std::move(r)) {}

    approval_request request;
    asio::cancellation_signal withdrawn;
    bool is_withdrawn = false;
};

IPYBOX_DECL call_questions::call_questions(asio::any_io_executor executor, std::shared_ptr<mcp::server::call> call,
                                           std::function<void()> changed, std::string session)
    : executor_(std::move(executor)), call_(std::move(call)), changed_(std::move(changed)),
      session_(std::move(session)) {}

IPYBOX_DECL std::shared_ptr<call_questions> call_questions::make(asio::any_io_executor executor,
                                                                 std::shared_ptr<mcp::server::call> call,
                                                                 std::function<void()> changed, std::string session) {
    return std::make_shared<call_questions>(std::move(executor), std::move(call), std::move(changed),
                                            std::move(session));
}

IPYBOX_DECL void call_questions::put(approval_request request) {
    waiting_.push_back(std::move(request));
    if (!open()) ask_next();
}

IPYBOX_DECL std::deque<approval_request> call_questions::withdraw() {
    auto back = std::exchange(waiting_, {});
    changed_ = {};
    if (auto const asked = std::exchange(asking_, nullptr)) {
        if (!asked->request.decided()) back.push_front(asked->request);
        asked->is_withdrawn = true;
        detail::emit_cancellation(asked->withdrawn);
    }
    return back;
}

IPYBOX_DECL void call_questions::ask_next() {
    while (!waiting_.empty() && waiting_.front().decided()) waiting_.pop_front();
    if (!waiting_.empty()) {
        asking_ = std::make_shared<question>(std::move(waiting_.front()));
        waiting_.pop_front();
        detail::spawn(executor_, ask(shared_from_this(), asking_), {}, asking_->withdrawn.slot());
    }
    if (changed_) changed_();
}

IPYBOX_DECL asio::awaitable<void> call_questions::ask(std::shared_ptr<call_questions> self,
                                                      std::shared_ptr<question> asked) {
    auto const& subject = *asked->request.subject();
    result<mcp::server::elicitation> answer = failure(errc::cancelled);
    try {
        auto message = question_about(subject, self->session_);
        if (!subject.notice.empty()) message += "\n\n" + subject.notice;
        auto form = form_about(subject);
        answer = co_await self->call_->elicit(std::move(message), std::move(form));
    } catch (std::exception const&) { // cancelled before it began, or no memory: rejected, or given back
    }
    if (asked->is_withdrawn) co_return;
    if (answer)
        asked->request.answer(decision_of(*answer, subject));
    else
        asked->request.reject("the user could not be asked: " + answer.error().text(), decision::when_repeated::ask);
    self->asking_ = nullptr;
    self->ask_next();
}

} // namespace ipybox
