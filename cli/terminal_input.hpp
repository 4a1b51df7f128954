#pragma once

#include <ipybox/execution/input_request.hpp>

#include <cli/terminal_questions.hpp>

#include <mutex>

namespace ipybox::cli {

/// Asks the person at the terminal what the code wants to know. End of file (Ctrl-D) refuses, which is an EOFError in
/// the code.
class terminal_input {
  public:
    explicit terminal_input(terminal_questions& terminal) noexcept : terminal_(terminal) {}

    /// Asks; takes back a question that is still open, as the code has given it up.
    void ask(input_request const& request);

    /// Takes the question back: the cell is over.
    void forget();

  private:
    terminal_questions& terminal_;
    std::mutex mutex_;
    terminal_questions::number asked_ = 0; ///< the latest question
};

} // namespace ipybox::cli
