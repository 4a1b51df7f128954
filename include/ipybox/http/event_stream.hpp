#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/http/event_reader.hpp>
#include <ipybox/http/response.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::http {

/**
 * \brief Reads the events of an answer, or of several that continue each other.
 * \par Thread safety Unsafe; for one coroutine at a time.
 */
class event_stream {
  public:
    /// \param longest bytes of the data of one event
    explicit event_stream(std::size_t longest) : reader_(longest) {}

    /// The answer whose body is read from now on.
    void begin(std::shared_ptr<response> answer) {
        answer_ = std::move(answer);
        reader_.begin();
    }

    /// Waits for an event; none at the end of the body. \par Errors those of `response::read`; errc::message_too_large
    [[nodiscard]] asio::awaitable<result<std::optional<event>>> next() {
        while (events_.empty()) {
            auto piece = co_await answer_->read();
            if (!piece) co_return failure(piece);
            if (piece->empty()) co_return std::optional<event>();
            auto events = reader_.read(*piece);
            if (!events) co_return failure(events);
            for (auto& each : *events) events_.push_back(std::move(each));
        }
        std::optional<event> first(std::move(events_.front()));
        events_.pop_front();
        co_return first;
    }

    /// See `event_reader`.
    [[nodiscard]] std::string const& last_id() const noexcept { return reader_.last_id(); }
    [[nodiscard]] std::optional<std::chrono::milliseconds> retry() const noexcept { return reader_.retry(); }

  private:
    event_reader reader_;
    std::shared_ptr<response> answer_;
    std::deque<event> events_;
};

} // namespace ipybox::http
