#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/execution/display.hpp>
#include <ipybox/execution/output_chunk.hpp>
#include <ipybox/jupyter/message.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace ipybox::detail {

struct value_answer;

/// When an execution is over.
enum class completion_rule {
    reply,         ///< all channels share one order: the reply comes after all output
    reply_and_idle ///< channels are independent (ZeroMQ): over when the reply and the idle status were both seen
};

/// The meaning of a message of the kernel for the execution that runs.
struct nothing_new {};
struct clear_wanted {
    bool wait = false; ///< only when the next output comes
};
struct input_wanted {
    std::string prompt;
    bool password = false;
    nlohmann::json request_header; ///< parent of the answer
};
struct code_told {};  ///< of an interrupt: the kernel has raised it in the code
struct code_ended {}; ///< after an interrupt: what is left is the kernel's own work
struct execution_over {
    std::string pager_text;                           ///< what the code showed in the pager (`print?`)
    bool leaving = false;                             ///< the code called `exit()`: the kernel ends behind its reply
    std::optional<error::python_exception> exception; ///< none: status ok
    std::optional<int> exit_code;                     ///< of code that leaves: `exit(n)`, `sys.exit(n)`
    std::shared_ptr<value_answer> value; ///< none: the kernel was not asked for one, or does not know how to answer
};

using execute_step =
    std::variant<nothing_new, output_chunk, display, clear_wanted, input_wanted, code_told, code_ended, execution_over>;

/// Whether a message brings output.
[[nodiscard]] bool is_output(jupyter::message const& m) noexcept;

/// The output in a message, whichever its parent is: threads and tasks of earlier cells go on writing. The message is
/// spent.
[[nodiscard]] execute_step output_in(jupyter::message& m);

/**
 * \brief Follows one execution through the kernel's messages.
 * \details Jupyter messaging, "Execute" and "Messages on the IOPub channel". No sockets, no clock: a message in, its
 * meaning out.
 */
class execute_machine {
  public:
    execute_machine(std::string request_id, completion_rule rule) : request_id_(std::move(request_id)), rule_(rule) {}

    [[nodiscard]] execute_step step(jupyter::message m);

  private:
    [[nodiscard]] execute_step on_status(jupyter::message const& m);
    [[nodiscard]] execute_step on_reply(jupyter::message& m);
    [[nodiscard]] execute_step finish();

    std::string request_id_;
    completion_rule rule_;
    std::optional<error::python_exception> error_;
    std::optional<execution_over> reply_;
    bool idle_ = false;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/execute_machine.ipp>
#endif
