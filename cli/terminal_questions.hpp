#pragma once

#include <ipybox/os/unique_fd.hpp>

#include <cli/output_file.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ipybox::cli {

struct terminal_size {
    std::size_t columns;
    std::size_t rows;
};

/// How much of a decision's question is shown.
enum class question_extent {
    screen, ///< what fits on it
    all
};

/// What the person at the terminal is to be asked.
struct terminal_question {
    enum class kind {
        input,    ///< for the code
        password, ///< the same, and what is typed is not shown
        decision  ///< about the code: only what is typed after it was shown counts
    };

    kind what;
    std::string text; ///< by the code, for its input
    std::function<std::string(terminal_size, question_extent)> decision =
        {}; ///< the text of a decision, which nothing of the code's may change
    std::function<void(std::optional<std::string>)>
        answered; ///< gets the line, or nothing at the end of file (Ctrl-D), on a thread of the questions
};

/**
 * \brief Asks the person at the terminal, one question after the other.
 * \details Reads on a thread of its own, so that only the asker waits for the person. Questions are written to standard
 * error, where they are seen even if standard output goes elsewhere. What a person reads beside a question for a
 * decision must not come from the code: `wait_for_decisions` before writing it. A question for a decision sets the
 * terminal to rights first. "v" shows all of it and asks again. Behind a question that was taken back, and behind input
 * of the code, nothing is taken for an answer for a moment, as it may have been meant for that one.
 * \par Thread safety Safe. Outlives the executor, whose requests come back to it when they are decided otherwise.
 */
class terminal_questions {
  public:
    using number = std::uint64_t;

    /// `passed`: what the code's output may contain. If that is all, the terminal may be in any state.
    explicit terminal_questions(escape_sequences passed = escape_sequences::colours);
    terminal_questions(terminal_questions const&) = delete;
    terminal_questions& operator=(terminal_questions const&) = delete;
    ~terminal_questions();

    number ask(terminal_question question);

    /// Takes a question back, unless it was answered. Its answer is read no more.
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
    void put_input(terminal_question const& question);
    void put_decision(terminal_question const& question);
    [[nodiscard]] bool show(terminal_question const& question, question_extent extent);
    void taken_back();
    [[nodiscard]] bool decision_is_open() const;

    escape_sequences const passed_;
    os::unique_fd wake_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<entry> open_; ///< the first one is being asked
    bool asking_ = false;
    bool over_ = false;
    number last_ = 0;
    bool replaces_ =
        false;           ///< a question was taken back or input was typed, and nothing was asked since; of the worker
    std::thread worker_; ///< since the first question
};

} // namespace ipybox::cli
