#pragma once

#include <ipybox/async/mailbox.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/transport/scripted_transport.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL kernel_script::exchange& kernel_script::exchange::prints(std::string text, std::string stream) {
    return sends(
        {jupyter::message::channel::iopub, "stream", {{"name", std::move(stream)}, {"text", std::move(text)}}});
}

IPYBOX_DECL kernel_script::exchange& kernel_script::exchange::shows(jupyter::json data, std::string type) {
    jupyter::json content = {{"data", std::move(data)}, {"metadata", jupyter::json::object()}};
    return sends({jupyter::message::channel::iopub, std::move(type), std::move(content)});
}

IPYBOX_DECL kernel_script::exchange& kernel_script::exchange::sends(jupyter::message m) {
    steps_.emplace_back(std::move(m));
    return *this;
}

IPYBOX_DECL kernel_script::exchange& kernel_script::exchange::asks(std::string prompt) {
    sends({jupyter::message::channel::stdin_, "input_request", {{"prompt", std::move(prompt)}, {"password", false}}});
    steps_.emplace_back(input_pause());
    return *this;
}

IPYBOX_DECL kernel_script::exchange& kernel_script::exchange::waits_for_interrupt() {
    steps_.emplace_back(interrupt_pause());
    return *this;
}

IPYBOX_DECL kernel_script::exchange& kernel_script::exchange::dies(exit_status status) {
    steps_.emplace_back(status);
    return *this;
}

IPYBOX_DECL kernel_script::exchange& kernel_script::exchange::replies() {
    return sends({jupyter::message::channel::shell, "execute_reply", {{"status", "ok"}}});
}

IPYBOX_DECL kernel_script::exchange& kernel_script::exchange::raises(std::string ename, std::string evalue) {
    jupyter::json const lines = {ename + ": " + evalue};
    return sends(
        {jupyter::message::channel::shell,
         "execute_reply",
         {{"status", "error"}, {"ename", std::move(ename)}, {"evalue", std::move(evalue)}, {"traceback", lines}}});
}

IPYBOX_DECL kernel_script::exchange& kernel_script::expect(std::string code) {
    exchanges_.emplace_back().code_ = std::move(code);
    return exchanges_.back();
}

IPYBOX_DECL void kernel_script::fail_at(std::size_t n, error why) {
    failing_ = n;
    failure_ = std::move(why);
}

IPYBOX_DECL std::optional<error> kernel_script::next_operation() {
    return operations_++ == failing_ ? failure_ : std::nullopt;
}

/// One kernel's life: what it does next, and what it has said.
struct scripted_transport::state {
    explicit state(asio::any_io_executor const& executor) : said(executor) {}

    /// Goes on with the exchange up to its next pause.
    void play() {
        while (!steps.empty() && !dead) {
            auto& next = steps.front();
            if (auto* m = std::get_if<jupyter::message>(&next)) {
                m->parent_id = request_id;
                said.push(std::move(*m));
            } else if (auto const* status = std::get_if<exit_status>(&next)) {
                end(error(errc::kernel_died, "the kernel died: " + to_string(*status)).with_status(*status));
            } else {
                return;
            }
            steps.pop_front();
        }
    }

    /// Goes on if the exchange waits for this.
    template <class Pause>
    void pass() {
        if (steps.empty() || !std::holds_alternative<Pause>(steps.front())) return;
        steps.pop_front();
        play();
    }

    void end(error why) {
        if (std::exchange(dead, true)) return;
        said.push(failure(std::move(why)));
    }

    std::string request_id;
    std::deque<kernel_script::exchange::step> steps;
    detail::mailbox<result<jupyter::message>> said;
    bool dead = false;
};

IPYBOX_DECL scripted_transport::scripted_transport(std::shared_ptr<kernel_script> script)
    : script_(std::move(script)) {}

IPYBOX_DECL asio::awaitable<result<kernel_info>> scripted_transport::start(std::shared_ptr<kernel_host> host,
                                                                           kernel_launch) {
    auto const executor = co_await asio::this_coro::executor;
    if (script_->supervised_) {
        auto const obtained = co_await host->obtain();
        if (!obtained) co_return failure(obtained.error());
    }
    if (auto failed = script_->next_operation()) co_return failure(std::move(*failed));
    ++script_->starts_;
    state_ = std::make_shared<state>(executor);
    co_return kernel_info();
}

IPYBOX_DECL asio::awaitable<result<void>> scripted_transport::send(jupyter::message m) {
    if (auto failed = script_->next_operation()) co_return failure(std::move(*failed));
    auto const kernel = state_;
    if (!kernel || kernel->dead) co_return failure(errc::kernel_died);
    if (m.type == "input_reply") {
        script_->inputs_.push_back(jupyter::field(m.content, "value"));
        kernel->pass<kernel_script::exchange::input_pause>();
    }
    if (m.type == "execute_request") {
        auto const code = jupyter::field(m.content, "code");
        if (script_->exchanges_.empty() || script_->exchanges_.front().code_ != code) {
            kernel->end(error(errc::protocol_error, "the script does not expect: " + code));
        } else {
            kernel->request_id = m.id;
            kernel->steps = std::move(script_->exchanges_.front().steps_);
            script_->exchanges_.pop_front();
            kernel->play();
        }
    }
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<result<jupyter::message>> scripted_transport::receive() {
    auto const kernel = state_;
    if (!kernel) co_return failure(errc::not_running);
    auto next = co_await kernel->said.pop();
    if (!*next) kernel->said.push(*next); // every further call fails too
    if (auto failed = script_->next_operation()) co_return failure(std::move(*failed));
    co_return std::move(*next);
}

IPYBOX_DECL asio::awaitable<result<void>> scripted_transport::interrupt() {
    if (auto failed = script_->next_operation()) co_return failure(std::move(*failed));
    ++script_->interrupts_;
    if (auto const kernel = state_) kernel->pass<kernel_script::exchange::interrupt_pause>();
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<void> scripted_transport::stop() {
    if (auto const kernel = std::exchange(state_, nullptr))
        kernel->end(error(errc::kernel_died, "the kernel was stopped"));
    co_return;
}

} // namespace ipybox
