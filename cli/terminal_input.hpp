#pragma once

#include <ipybox/execution/input_request.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <thread>

namespace ipybox::cli {

/**
 * \brief Asks the person at the terminal what the code wants to know.
 * \details Reads on a thread of its own, so that nobody waits for the person but the code. Questions are written to standard error, where they are seen
 * even if standard output goes elsewhere. End of file (Ctrl-D) refuses, which is an EOFError in the code.
 */
class terminal_input {
  public:
    terminal_input();
    terminal_input(terminal_input const&) = delete;
    terminal_input& operator=(terminal_input const&) = delete;
    ~terminal_input();

    /// Asks; takes back a question that is still open, as the code has given it up.
    void ask(input_request request);

    /// Takes the question back: the cell is over.
    void forget();

  private:
    void read_answer(input_request const& request);

    os::unique_fd wake_;
    std::thread reader_;
};

} // namespace ipybox::cli
