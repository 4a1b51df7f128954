#pragma once

#include <ipybox/os/unique_fd.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ipybox::cli {

/// What the person at the terminal is to be asked.
struct terminal_question {
    enum class kind {
        input,    ///< for the code
        password, ///< the same, and what is typed is not shown
        decision  ///< about the code: only what is typed after it was shown counts
    };

    kind what;
    std::string text;
    std::function<void(std::optional<std::string>)>
        answered; ///< gets the line, or nothing at the end of file (Ctrl-D), on a thread of the questions
};

/**
 * \brief Asks the person at the terminal, one question after the other.
 * \details Reads on a thread of its own, so that nobody waits for the person but who asks. Questions are written to standard error, where they are seen even if standard output
 * goes elsewhere. What a person reads beside a question for a decision must not come from the code: `wait_for_decisions` before writing it.
 * \par Thread safety Safe. Outlives the executor, whose requests come back to it when they are decided otherwise.
 */
class terminal_questions {
  public:
    using number = std::uint64_t;

    terminal_questions();
    terminal_questions(terminal_questions const&) = delete;
    terminal_questions& operator=(terminal_questions const&) = delete;
    ~terminal_questions();

    number ask(terminal_question question);

    /// Takes a question back, unless it was answered: nobody reads for it any more then.
    void withdraw(number which);

    /// Returns when no question for a decision is open.
    void wait_for_decisions();

  private:
    struct entry {
        number id;
        terminal_question question;
    };

    void work();
    void put(terminal_question const& question);
    [[nodiscard]] bool decision_is_open() const;

    os::unique_fd wake_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<entry> open_; ///< the first one is being asked
    bool asking_ = false;
    bool over_ = false;
    number last_ = 0;
    std::thread worker_; ///< since the first question
};

} // namespace ipybox::cli
