// prints: the code asks: name?
// prints: hello, Ada

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <iostream>

int main() {
    ipybox::executor box;
    if (auto started = box.start(); !started) {
        std::cerr << started.error() << '\n';
        return 1;
    }

    //! [input]
    ipybox::execute_options options;
    // Runs on the executor's own thread and must not block: to ask a person, keep the request and reply later, from any
    // thread.
    options.on_input = [](ipybox::input_request request) {
        std::cout << "the code asks: " << request.prompt() << '\n';
        request.reply("Ada");
    };
    auto result = box.execute("name = input('name?')\nprint('hello,', name)", options);
    //! [input]
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }
    std::cout << result->text << '\n';
}
