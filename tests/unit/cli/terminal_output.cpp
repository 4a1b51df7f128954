#include <support/catch.hpp>

#include <cli/terminal_output.hpp>
#include <unit/cli/captured_output.hpp>

#include <cerrno>
#include <csignal>
#include <functional>
#include <string>

namespace {

struct printed {
    std::string out;
    std::string err;
};

printed written_by(std::function<void(ipybox::cli::cell_output&)> const& events) {
    ipybox::test::captured_output out;
    ipybox::test::captured_output err;
    auto out_file = out.file();
    auto err_file = err.file();
    ipybox::cli::terminal_output output(out_file, err_file);
    events(output);
    return {out.text(), err.text()};
}

ipybox::display display_of(std::string text) {
    ipybox::display shown;
    shown.data.add({"text/plain", ipybox::display::mime_bundle::encoding::text, std::move(text)});
    return shown;
}

} // namespace

TEST_CASE("Text goes to its stream, as it is") {
    auto const texts = written_by([](ipybox::cli::cell_output& output) {
        output.text(0, {ipybox::output_chunk::stream_name::stdout_, "a"});
        output.text(0, {ipybox::output_chunk::stream_name::stderr_, "e"});
        output.text(0, {ipybox::output_chunk::stream_name::stdout_, "b\n\xFF"});
    });
    CHECK(texts.out == "ab\n\xFF");
    CHECK(texts.err == "e");
}

TEST_CASE("Displays are lines of their own") {
    auto const texts = written_by([](ipybox::cli::cell_output& output) {
        output.text(0, {ipybox::output_chunk::stream_name::stdout_, "unfinished"});
        output.shown(0, display_of("42"));
        output.shown(0, display_of("43\n"));
        output.text(0, {ipybox::output_chunk::stream_name::stdout_, "end"});
    });
    CHECK(texts.out == "unfinished\n42\n43\nend");
}

TEST_CASE("Pictures and displays in files are named by their path") {
    auto const texts = written_by([](ipybox::cli::cell_output& output) {
        auto picture = display_of("<Figure>");
        picture.image = "images/1.png";
        output.shown(0, picture);
        ipybox::display large;
        large.spill_file = "/tmp/large.json";
        output.shown(0, large);
        output.shown(0, ipybox::display()); // nothing that could be shown
    });
    CHECK(texts.out == "image: images/1.png\ndisplay: /tmp/large.json\n");
}

TEST_CASE("Failures are explained on standard error") {
    auto const texts = written_by([](ipybox::cli::cell_output& output) {
        output.finished(0, ipybox::execution_result());
        ipybox::error::python_exception const exception{"ValueError", "bad", {"Traceback", "ValueError: bad"}};
        output.finished(1, tl::unexpected(ipybox::error(ipybox::errc::python_error, exception)));
        output.finished(2, ipybox::failure(ipybox::errc::kernel_died, "the kernel died: exit code 1"));
    });
    CHECK(texts.out.empty());
    CHECK(texts.err == "Traceback\nValueError: bad\nipybox: cell 3: the kernel died: exit code 1\n");
}

TEST_CASE("A reader that is gone is noticed") {
    std::signal(SIGPIPE, SIG_IGN);
    ipybox::test::captured_output captured;
    auto file = captured.file();
    captured.close_reader();
    try {
        file.write("x");
        FAIL("written to nobody");
    } catch (ipybox::cli::output_error const& error) { CHECK(error.code().value() == EPIPE); }
}
