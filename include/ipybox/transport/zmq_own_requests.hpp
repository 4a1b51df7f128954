#pragma once

#include <ipybox/jupyter/message.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace ipybox::detail {

/**
 * \brief The requests that a transport over ZeroMQ has of its own, and the kernel's messages about them, which never
 * leave it.
 * \details Protocol only. The ids of such requests have a prefix, by which their answers are known.
 */
class zmq_own_requests {
    using replies = std::map<std::string, std::optional<jupyter::message>, std::less<>>;

  public:
    /// So many messages may answer one request: a reply and a few states are due.
    static constexpr int most_answers = 1000;

    /// The id of the next request. Answers are counted anew.
    [[nodiscard]] std::string next_id();

    /// The id of a request whose answer is a sign of life, the latest of which counts.
    [[nodiscard]] std::string next_sign_of_life();

    /// Whether the latest request for a sign of life was answered, or there is none.
    [[nodiscard]] bool is_alive() const noexcept { return sign_of_life_.empty(); }

    /// How a message of the kernel is to be dealt with.
    enum class kind {
        foreign,     ///< it does not answer any of these requests
        passed,      ///< it is one that changes nothing
        taken,       ///< it is one that is waited for
        one_too_many ///< its request was answered too often
    };

    /// Keeps it when it is the reply that is waited for.
    [[nodiscard]] kind take(jupyter::message& m);

    /// While there is one, the reply to a request is kept.
    class expected_reply {
      public:
        expected_reply(zmq_own_requests& of, std::string id)
            : all_(of.expected_), at_(all_.try_emplace(std::move(id)).first) {}
        expected_reply(expected_reply const&) = delete;
        expected_reply& operator=(expected_reply const&) = delete;
        ~expected_reply() { all_.erase(at_); }

        /// None as long as it has not come.
        [[nodiscard]] std::optional<jupyter::message>& get() const noexcept { return at_->second; }

      private:
        replies& all_;
        replies::iterator at_;
    };

  private:
    std::string const prefix_ = jupyter::message::new_id() + "-";
    std::size_t count_ = 0;
    int answers_ = 0;          ///< since the latest request
    std::string sign_of_life_; ///< id of the latest such request, until it is answered
    replies expected_;         ///< by the ids of their requests
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/zmq_own_requests.ipp>
#endif
