#pragma once

#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/execution/input_request.hpp>

#include <atomic>
#include <utility>

namespace ipybox {

struct input_request::state {
    state(std::string p, bool hidden, answer_function a)
        : prompt(std::move(p)), password(hidden), answer(std::move(a)) {}
    state(state const&) = delete;
    state& operator=(state const&) = delete;
    ~state() { give(nullptr); }

    void give(std::unique_ptr<std::string> line) {
        if (!answered.exchange(true)) answer(std::move(line));
    }

    std::string prompt;
    bool password;
    answer_function answer;
    std::atomic<bool> answered = false;
};

IPYBOX_DECL input_request::input_request(std::string prompt, bool password, answer_function answer)
    : state_(std::make_shared<state>(std::move(prompt), password, std::move(answer))) {}

IPYBOX_DECL std::string const& input_request::prompt() const noexcept {
    static auto const& none = detail::never_destroyed<std::string>();
    return state_ ? state_->prompt : none;
}
IPYBOX_DECL bool input_request::password() const noexcept { return state_ && state_->password; }
IPYBOX_DECL void input_request::reply(std::string line) const {
    if (state_) state_->give(std::make_unique<std::string>(std::move(line)));
}
IPYBOX_DECL void input_request::refuse() const {
    if (state_) state_->give(nullptr);
}

} // namespace ipybox
