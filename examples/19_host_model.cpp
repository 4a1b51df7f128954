// prints: angry: My parcel is late again!
// prints: asked the model 3 times

#include <ipybox/ipybox.hpp>

#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

/// Stands for the client of a language model. It takes its time, and waits without holding up a thread.
class scripted_model {
  public:
    asio::awaitable<std::string> complete(std::string prompt) {
        ++asked;
        asio::steady_timer latency(co_await asio::this_coro::executor, std::chrono::milliseconds(20));
        co_await latency.async_wait(asio::use_awaitable);
        co_return prompt.find('!') != std::string::npos ? "angry" : "calm";
    }

    int asked = 0;
};

} // namespace

int main() {
    std::filesystem::path const dir = "build/examples/host_model";
    std::filesystem::create_directories(dir);
    ipybox::executor_options options;
    options.working_dir = dir;
    options.approval.tool_calls = false;
    options.approval.calls_per_cell = 100; // code that asks a model within a loop may cost much
    ipybox::executor box(options);

    //! [model]
    // A coroutine: many calls wait at once, and a cell that is cancelled cancels them.
    auto const model = std::make_shared<scripted_model>();
    ipybox::host_tool ask("ask_model", "Asks a language model, and returns what it says", {"prompt"},
                          [model](std::string const& prompt) -> asio::awaitable<std::string> {
                              auto said = co_await model->complete(prompt);
                              co_return said;
                          });
    //! [model]
    auto added = box.add_tool(std::move(ask), "llm");
    if (added) {
        auto const made = box.generate_mcp_sources("llm", dir / "mcptools");
        if (!made) added = ipybox::failure(made.error());
    }
    if (!added) {
        std::cerr << added.error() << '\n';
        return 1;
    }

    //! [ask]
    // The answers of this model stay in the code, and cost no tokens of the model that wrote it.
    auto result = box.execute(R"(
from mcptools.llm import ask_model

letters = ["Thank you.", "My parcel is late again!", "Where do I pay?"]
for letter in letters:
    mood = ask_model.run(prompt=f"Calm or angry? {letter}")
    if mood == "angry":
        print("angry:", letter)
)");
    //! [ask]
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }
    std::cout << result->text << '\n' << "asked the model " << model->asked << " times\n";
}
