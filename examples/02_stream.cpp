// prints: step 3 of 3
// prints: value: 6
// prints: took

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <chrono>
#include <iostream>
#include <variant>

//! [visitor]
// One overload for each kind of event, called in the order in which things happened.
struct print {
    void operator()(ipybox::output_chunk const& chunk) const { std::cout << chunk.text << std::flush; }

    void operator()(ipybox::display const& shown) const {
        if (auto const* text = shown.data.find("text/plain")) std::cout << "value: " << *text << '\n';
    }

    // The last event: the result, or the error.
    void operator()(ipybox::result<ipybox::execution_result> const& result) const {
        if (result)
            std::cout << "took " << std::chrono::duration<double>(result->elapsed).count() << " s\n";
        else
            std::cerr << result.error() << '\n';
    }

    void operator()(ipybox::execution_stream::output_cleared) const {}

    // Dropped without an answer, so the action is rejected: an undecided action never runs.
    void operator()(ipybox::approval_request const&) const {}
};
//! [visitor]

int main() {
    ipybox::executor box;
    if (auto started = box.start(); !started) {
        std::cerr << started.error() << '\n';
        return 1;
    }

    //! [stream]
    auto events = box.stream(R"(
import time
for i in range(1, 4):
    print('step', i, 'of 3')
    time.sleep(0.2)
sum(range(4))
)");
    // Each line appears when it was printed, not when the code has ended.
    while (auto event = events.next()) std::visit(print{}, *event);
    //! [stream]
}
