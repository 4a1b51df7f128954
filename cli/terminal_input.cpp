#include <cli/terminal_input.hpp>

#include <optional>
#include <string>
#include <utility>

namespace ipybox::cli {

void terminal_input::ask(input_request const& request) {
    std::scoped_lock const lock(mutex_);
    terminal_.withdraw(asked_);
    auto const take = [request](std::optional<std::string> line) {
        if (line)
            request.reply(std::move(*line));
        else
            request.refuse();
    };
    using kind = terminal_question::kind;
    asked_ = terminal_.ask({request.password() ? kind::password : kind::input, request.prompt(), {}, take});
}

void terminal_input::forget() {
    std::scoped_lock const lock(mutex_);
    terminal_.withdraw(asked_);
}

} // namespace ipybox::cli
