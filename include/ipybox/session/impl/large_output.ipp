#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/session/execution_output.hpp>
#include <ipybox/session/large_output.hpp>
#include <ipybox/session/seen_messages.hpp>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <string>
#include <string_view>

namespace ipybox::detail {

IPYBOX_DECL large_output::saving_display::saving_display(asio::any_io_executor const& executor)
    : wake(executor, asio::steady_timer::time_point::max()) {}

IPYBOX_DECL void large_output::begin(output_chunk chunk) {
    output_.recorder().expect(chunk.text.size());
    pending_.emplace(std::move(chunk));
}

IPYBOX_DECL void large_output::belongs_to(std::uint64_t number, std::shared_ptr<void> in_hand) {
    pending_->number = number;
    pending_->in_hand = std::move(in_hand);
}

IPYBOX_DECL asio::awaitable<void> large_output::go_on() {
    if (auto const* const chunk = std::get_if<output_chunk>(&pending_->what)) {
        write_slice(*chunk);
        co_await asio::post(executor_, asio::use_awaitable);
    } else {
        save_aside();
    }
}

IPYBOX_DECL asio::awaitable<void> large_output::finish() {
    while (is_pending()) {
        if (!saving_) co_await go_on();
        if (saving_ && !saving_->is_done) {
            asio::error_code ignored;
            co_await saving_->wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        take_saved();
    }
}

IPYBOX_DECL void large_output::write_slice(output_chunk const& chunk) {
    auto const rest = std::string_view(chunk.text).substr(pending_->written);
    auto const slice = rest.substr(0, whole_characters(rest, long_text));
    pending_->written += slice.size();
    output_.write({chunk.stream, std::string(slice)});
    if (slice.size() == rest.size()) done();
}

IPYBOX_DECL void large_output::save_aside() {
    output_.clear_if_due();
    auto const record = [&recorder = output_.recorder(), &shown = std::get<display>(pending_->what)] {
        recorder.show(shown);
        return true;
    };
    using recorded = work_outcome<decltype(record)>;
    saving_ = std::make_shared<saving_display>(executor_);
    auto const saved = [inbox = inbox_, saving = saving_](recorded came) {
        if (auto const* const thrown = std::get_if<1>(&came)) saving->thrown = *thrown;
        saving->is_done = true;
        saving->wake.cancel();
        inbox->push(occurrence::nudge());
    };
    begin_aside(aside_, record, completion<recorded>(saved, executor_));
}

IPYBOX_DECL void large_output::take_saved() {
    if (!saving_ || !saving_->is_done) return;
    auto const thrown = std::exchange(saving_, nullptr)->thrown;
    if (thrown) std::rethrow_exception(thrown);
    output_.tell(std::move(std::get<display>(pending_->what)));
    done();
}

IPYBOX_DECL void large_output::done() {
    seen_.saw(pending_->number);
    pending_.reset();
}

} // namespace ipybox::detail
