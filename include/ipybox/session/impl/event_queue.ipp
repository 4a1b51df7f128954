#pragma once

#include <ipybox/session/event_queue.hpp>

#include <asio/system_executor.hpp>

#include <utility>
#include <variant>

namespace ipybox::detail {

inline std::size_t event_size(execution_event const& e) {
    if (auto const* chunk = std::get_if<output_chunk>(&e)) return chunk->text.size();
    if (auto const* shown = std::get_if<display>(&e)) return shown->data.size() + shown->metadata.size();
    return 0;
}

IPYBOX_DECL std::shared_ptr<event_queue> const& event_queue::ended() {
    // Never destroyed: static objects may hold streams until the end of the program.
    static auto const& none = *new auto([] {
        auto queue = std::make_shared<event_queue>(std::weak_ptr<executor_lender const>(), nullptr);
        queue->finished_ = true;
        return queue;
    }());
    return none;
}

IPYBOX_DECL void event_queue::on_reader(std::function<void()> room, std::function<void()> left) {
    std::scoped_lock const lock(mutex_);
    on_room_ = std::move(room);
    on_left_ = std::move(left);
}

/// Small chunks of one stream are joined until they are read.
IPYBOX_DECL bool event_queue::append_to_last(execution_event& e) {
    auto* const chunk = std::get_if<output_chunk>(&e);
    auto* const last = events_.empty() ? nullptr : std::get_if<output_chunk>(&events_.back());
    if (!chunk || !last || last->stream != chunk->stream || last->text.size() > most_bytes / 4) return false;
    last->text += chunk->text;
    last->replaces_line |= chunk->replaces_line;
    return true;
}

IPYBOX_DECL void event_queue::push(execution_event e) {
    delivery deliver;
    {
        std::scoped_lock const lock(mutex_);
        deliver = push_locked(std::move(e));
    }
    deliver();
}

IPYBOX_DECL event_queue::delivery event_queue::push_locked(execution_event e) {
    if (finished_) return {};
    if (reader_) return {std::exchange(reader_, {}), std::move(e)};
    bytes_ += event_size(e);
    if (!append_to_last(e)) events_.push_back(std::move(e));
    return {};
}

IPYBOX_DECL void event_queue::finish(result<execution_result> last) {
    delivery deliver;
    {
        std::scoped_lock const lock(mutex_);
        deliver = push_locked(execution_event(std::move(last)));
        finished_ = true;
        on_room_ = nullptr;
        on_left_ = nullptr;
        on_read_ = nullptr;
        may_block_ = nullptr;
    }
    deliver();
}

IPYBOX_DECL bool event_queue::full() const {
    std::scoped_lock const lock(mutex_);
    return is_full();
}

IPYBOX_DECL std::optional<event_queue::event> event_queue::take_locked(std::function<void()>& tell) {
    if (events_.empty()) return finished_ ? std::optional<event>(std::in_place) : std::nullopt;
    bool const was_full = is_full();
    event e(std::move(events_.front()));
    events_.pop_front();
    bytes_ -= event_size(*e);
    if (was_full && !is_full()) tell = on_room_;
    return std::optional<event>(std::move(e));
}

IPYBOX_DECL std::optional<event_queue::event> event_queue::try_next() {
    std::function<void()> tell;
    std::optional<event> taken;
    {
        std::scoped_lock const lock(mutex_);
        taken = take_locked(tell);
    }
    if (tell) tell();
    return taken;
}

IPYBOX_DECL void event_queue::next(completion<event> reader, std::uint64_t wait) {
    std::function<void()> tell;
    delivery deliver;
    delivery superseded; // one waits at a time: the earlier one ends as if it were cancelled
    {
        std::scoped_lock const lock(mutex_);
        if (auto taken = take_locked(tell))
            deliver = {std::move(reader), std::move(*taken)};
        else {
            superseded = {std::exchange(reader_, {}), std::nullopt};
            reader_ = std::move(reader);
            wait_ = wait;
            tell = std::exchange(on_read_, nullptr);
        }
    }
    superseded();
    deliver();
    if (tell) tell();
}

IPYBOX_DECL void event_queue::when_read(std::function<void()> then) {
    {
        std::scoped_lock const lock(mutex_);
        if (!reader_) {
            on_read_ = std::move(then);
            return;
        }
    }
    then();
}

IPYBOX_DECL void event_queue::with_executor(borrower const& use) const {
    std::shared_ptr<executor_lender const> session;
    {
        std::scoped_lock const lock(mutex_);
        if (!finished_) session = session_.lock();
    }
    if (session)
        session->with_executor(use);
    else
        use(asio::system_executor());
}

IPYBOX_DECL result<void> event_queue::may_block() const {
    std::function<result<void>()> asked;
    {
        std::scoped_lock const lock(mutex_);
        asked = may_block_;
    }
    return asked ? asked() : result<void>();
}

IPYBOX_DECL void event_queue::cancel_next(std::uint64_t wait) {
    delivery deliver;
    {
        std::scoped_lock const lock(mutex_);
        if (wait_ == wait) deliver.reader = std::exchange(reader_, {});
    }
    deliver();
}

IPYBOX_DECL void event_queue::leave() {
    if (!owner_.is_this()) return; // a fork: the execution is its parent's
    std::function<void()> tell;
    {
        std::scoped_lock const lock(mutex_);
        tell = std::exchange(on_left_, nullptr);
        on_read_ = nullptr;
        events_.clear();
        bytes_ = 0;
    }
    if (tell) tell();
}

} // namespace ipybox::detail
