#include <ipybox/execution.hpp>

#include <cli/run_cells.hpp>
#include <cli/terminal_input.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace ipybox::cli {
namespace {

template <class... Functions>
struct overloaded : Functions... {
    using Functions::operator()...;
};
template <class... Functions>
overloaded(Functions...) -> overloaded<Functions...>;

exit_code exit_code_of(error const& error) {
    if (error == condition::cannot_start || error == errc::kernel_unresponsive) return exit_code::cannot_start;
    return error == condition::timeout ? exit_code::timed_out : exit_code::failed;
}

/// "12.3 ms", "4.56 s"
std::string in_words(std::chrono::nanoseconds time) {
    auto const seconds = std::chrono::duration<double>(time).count();
    std::array<char, 32> text;
    if (seconds < 1)
        std::snprintf(text.data(), text.size(), "%.1f ms", seconds * 1000);
    else
        std::snprintf(text.data(), text.size(), "%.2f s", seconds);
    return text.data();
}

/// Questions of the code can be answered only where a person sits at a terminal from which nothing else is read.
bool can_ask(run_options const& options) {
    return options.source.file != "-" && options.approval != approval_choice::lines && ::isatty(STDIN_FILENO) != 0;
}

class run {
  public:
    run(executor_base& box, run_options const& options, interrupts& signals, approver& approver, cell_output& output,
        terminal_questions& terminal, output_file& messages)
        : box_(box), options_(options), signals_(signals), approver_(approver), output_(output), messages_(messages),
          input_(std::make_shared<terminal_input>(terminal)) {}

    exit_code all(std::vector<cell> const& cells) {
        auto const started = signals_.start(box_);
        if (auto const ending = signals_.ending()) return *ending;
        if (!*started) {
            say(started->error().text());
            return exit_code::cannot_start;
        }
        auto worst = exit_code::ok;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            auto const code = one(i, cells[i]);
            if (auto const ending = signals_.ending()) return *ending;
            if (code == exit_code::cannot_start && !left_) return code;
            if (worst == exit_code::ok) worst = code;
            if (left_ || i + 1 == cells.size() || (code != exit_code::ok && !options_.keep_going)) {
                end_kernel(i);
                break;
            }
        }
        return signals_.ending().value_or(worst);
    }

  private:
    /// Shows the output of threads and exit functions at the end, behind that of the last cell.
    void end_kernel(std::size_t last) {
        auto events = box_.finish();
        while (auto event = events.next()) {
            std::visit(overloaded{[&](output_chunk const& chunk) { output_.text(last, chunk); },
                                  [&](display const& shown) { output_.shown(last, shown); },
                                  [&](execution_stream::output_cleared) { output_.cleared(last); },
                                  [&](approval_request& request) { request.reject("the run has ended"); },
                                  [&](result<execution_result> const& end) {
                                      if (!end && end.error() == condition::timeout) say(end.error().text());
                                  }},
                       *event);
        }
    }

    exit_code one(std::size_t number, cell const& cell) {
        execute_options call;
        call.timeout = options_.timeout;
        if (!cell.title.empty()) call.title = cell.title;
        if (can_ask(options_))
            call.on_input = [input = input_](input_request request) { input->ask(std::move(request)); };

        signals_.cell_begins();
        auto events = box_.stream(cell.code, std::move(call));
        std::optional<result<execution_result>> end;
        while (auto event = events.next()) {
            if (!std::holds_alternative<approval_request>(*event)) approver_.make_way();
            std::visit(overloaded{[&](output_chunk const& chunk) { output_.text(number, chunk); },
                                  [&](display const& shown) { output_.shown(number, shown); },
                                  [&](execution_stream::output_cleared) { output_.cleared(number); },
                                  [&](approval_request& request) {
                                      // A reader of the event may answer at once.
                                      approver_.decide(request);
                                      output_.approval_wanted(number, request);
                                  },
                                  [&](result<execution_result>& result) { end = std::move(result); }},
                       *event);
        }
        signals_.cell_ends();
        input_->forget();
        approver_.forget();
        return finish(number, cell, *end);
    }

    exit_code finish(std::size_t number, cell const& cell, result<execution_result> const& result) {
        output_.finished(number, result);
        auto const& brought = output_of(result);
        auto const name = std::to_string(number + 1);
        if (options_.times)
            messages_.write_lines("[" + name + "] " + in_words(brought.elapsed) +
                                  (cell.title.empty() ? "" : " " + cell.title));
        if (brought.kernel_restarted)
            say("cell " + name + ": the kernel is a fresh one, what earlier cells made is gone");
        if (brought.files_left_out > 0)
            say("cell " + name + ": " + std::to_string(brought.files_left_out) +
                " files of images and displays were not written: a cell may write 1000, and 1 GiB in all");
        if (signals_.interrupted()) return exit_code::interrupted;
        if (brought.exit_code) {
            left_ = true;
            return static_cast<exit_code>(*brought.exit_code);
        }
        bool const is_expected = cell.may_raise && !result && result.error() == errc::python_error;
        return result || is_expected ? exit_code::ok : exit_code_of(result.error());
    }

    void say(std::string const& text) { messages_.write_lines("ipybox: " + text); }

    executor_base& box_;
    run_options const& options_;
    interrupts& signals_;
    approver& approver_;
    cell_output& output_;
    output_file& messages_;
    std::shared_ptr<terminal_input> input_;
    bool left_ = false; ///< the code has ended the run
};

} // namespace

exit_code run_cells(executor_base& box, std::vector<cell> const& cells, run_options const& options, interrupts& signals,
                    approver& approver, cell_output& output, terminal_questions& terminal, output_file& messages) {
    return run(box, options, signals, approver, output, terminal, messages).all(cells);
}

} // namespace ipybox::cli
