#include <ipybox/session/execution_output.hpp>
#include <ipybox/session/large_output.hpp>
#include <ipybox/session/output_places.hpp>
#include <ipybox/session/output_text.hpp>
#include <ipybox/session/seen_messages.hpp>

#include <support/catch.hpp>
#include <support/lent_executor.hpp>
#include <support/scratch_dir.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace {

using namespace ipybox;
using namespace ipybox::detail;

constexpr std::size_t mebibyte = std::size_t(1) << 20;

/// The output of an execution with a reader, whose kernel runs code.
struct written_output {
    test::scratch_dir dir;
    asio::io_context context;
    kernel_lifecycle life;
    std::shared_ptr<test::lent_executor const> lent = test::lend(context.get_executor());
    std::shared_ptr<event_queue> events = std::make_shared<event_queue>(lent, [] { return result<void>(); });
    int full = 0; ///< how often the kernel would have had to wait
    std::shared_ptr<seen_messages> seen = std::make_shared<seen_messages>(context.get_executor());
    std::shared_ptr<execution_inbox> inbox = std::make_shared<execution_inbox>(context.get_executor());

    written_output() {
        life.start();
        (void)life.started();
        life.execute();
    }

    [[nodiscard]] execution_output make(bool chunks = true) {
        output_places::settings const where{dir.path() / "images", dir.path() / "spill", dir.path(),
                                            spilled_files::kept};
        output_recorder::bounds const most{8 * mebibyte, 1000, std::uint64_t(1) << 30};
        return {std::make_shared<output_places>(where), most, life, events, chunks, [this] { ++full; }};
    }

    [[nodiscard]] large_output make_large(execution_output& output) {
        return {context.get_executor(), output, *seen, inbox};
    }

    void run(asio::awaitable<void> work) {
        asio::co_spawn(context, std::move(work), asio::detached);
        context.restart();
        context.run();
    }

    /// What the reader has got, "!" for a clearing; texts are told by their lengths.
    std::string read() {
        std::string all;
        while (auto event = events->try_next()) {
            if (auto const* chunk = std::get_if<output_chunk>(&**event)) all += std::to_string(chunk->text.size());
            if (std::holds_alternative<display>(**event)) all += "d";
            if (std::holds_alternative<execution_stream::output_cleared>(**event)) all += "!";
            all += " ";
        }
        return all;
    }

    static display html(std::size_t size) {
        display d;
        d.data.add({"text/html", display::mime_bundle::encoding::text, std::string(size, 'h')});
        return d;
    }
};

} // namespace

TEST_CASE_METHOD(written_output, "execution_output: goes into the result and to the reader") {
    auto output = make();
    output.write({output_chunk::stream_name::stdout_, "one\n"});
    output.write({output_chunk::stream_name::stdout_, ""});
    output.show(html(3));
    output.clear(true);
    CHECK(read() == "4 d ");
    output.write({output_chunk::stream_name::stderr_, "three"});
    output.clear(false);
    output.write({output_chunk::stream_name::stdout_, "rest"});
    CHECK(read() == "! 5 ! 4 ");
    CHECK(output.recorder().finish().text == "rest");
    CHECK(full == 0);
}

TEST_CASE_METHOD(written_output, "execution_output: a reader who wants no chunks gets the rest") {
    auto output = make(false);
    output.write({output_chunk::stream_name::stdout_, "one"});
    output.show(html(3));
    CHECK(read() == "d ");
}

TEST_CASE_METHOD(written_output, "execution_output: the kernel waits for a reader who is behind") {
    auto output = make();
    for (std::size_t i = 0; i < 5; ++i) output.write({output_chunk::stream_name::stdout_, std::string(mebibyte, 'x')});
    CHECK(full == 1);
    CHECK_FALSE(read().empty());
    output.write({output_chunk::stream_name::stdout_, "more"});
    CHECK(full == 1);
    CHECK(read() == "4 ");
}

TEST_CASE_METHOD(written_output,
                 "execution_output: while code is ended it waits for no reader, and the result has it all") {
    auto output = make();
    for (std::size_t i = 0; i < 5; ++i) output.write({output_chunk::stream_name::stdout_, std::string(mebibyte, 'x')});
    life.interrupt();
    output.write({output_chunk::stream_name::stdout_, "dropped"});
    CHECK(full == 1);
    (void)read();
    output.write({output_chunk::stream_name::stdout_, "kept"});
    CHECK(read() == "4 ");
    CHECK(output.recorder().finish().text.ends_with("droppedkept"));
}

TEST_CASE_METHOD(written_output, "large_output: a text is written in slices, and its message is seen at the end") {
    auto output = make();
    auto large = make_large(output);
    large.begin(output_chunk{output_chunk::stream_name::stdout_, std::string(2 * mebibyte + 1, 'x')});
    auto const in_hand = std::make_shared<int>(1);
    large.belongs_to(7, in_hand);
    for (int slices = 1; slices <= 3; ++slices) {
        CHECK(large.is_pending());
        CHECK_FALSE(large.is_being_saved());
        CHECK_FALSE(seen->has(7));
        CHECK(in_hand.use_count() == 2);
        run(large.go_on());
    }
    CHECK_FALSE(large.is_pending());
    CHECK(seen->has(7));
    CHECK(in_hand.use_count() == 1);
    CHECK(output.recorder().finish().text.size() == 2 * mebibyte + 1);
}

TEST_CASE_METHOD(written_output, "large_output: a display is saved beside the executor, and told when that is done") {
    auto output = make();
    auto large = make_large(output);
    large.begin(html(9 * mebibyte)); // beyond the bound of a result: it goes to a file
    large.belongs_to(7, nullptr);
    run([](large_output& one, execution_inbox& woken) -> asio::awaitable<void> {
        co_await one.go_on();
        CHECK(one.is_being_saved());
        auto const event = co_await woken.pop();
        CHECK((event && std::holds_alternative<occurrence::nudge>(*event)));
    }(large, *inbox));
    CHECK(large.is_being_saved()); // and done, which was not taken up
    CHECK(read().empty());
    large.take_saved();
    CHECK_FALSE(large.is_pending());
    CHECK(read() == "d ");
    CHECK(seen->has(7));
    auto const kept = output.recorder().finish();
    REQUIRE(kept.displays.size() == 1);
    REQUIRE_FALSE(kept.displays[0].spill_file.empty());
    CHECK(std::filesystem::file_size(kept.displays[0].spill_file) >= 9 * mebibyte);
}

TEST_CASE_METHOD(written_output, "large_output: the rest is waited for") {
    auto output = make();
    auto large = make_large(output);
    large.begin(html(2 * mebibyte));
    large.belongs_to(7, nullptr);
    run(large.finish());
    CHECK_FALSE(large.is_pending());
    CHECK(read() == "d ");
    large.begin(output_chunk{output_chunk::stream_name::stdout_, std::string(3 * mebibyte, 'x')});
    large.belongs_to(8, nullptr);
    run(large.finish());
    CHECK_FALSE(large.is_pending());
    CHECK(seen->has(8));
}
