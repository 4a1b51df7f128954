#include <ipybox/execution/display_text.hpp>

#include <cli/terminal_output.hpp>

#include <sstream>
#include <string>

namespace ipybox::cli {
namespace {

/// IPython's own, of magics: the cell prints it, and it has no traceback.
bool was_printed(error const& why) {
    return why == errc::python_error && why.exception() && why.exception()->ename == "UsageError" &&
           why.exception()->traceback.empty();
}

} // namespace

void terminal_output::text(std::size_t, output_chunk const& chunk) {
    (chunk.stream == output_chunk::stream_name::stderr_ ? err_ : out_).write(chunk.text);
}

void terminal_output::shown(std::size_t, display const& shown) {
    if (!shown.image.empty())
        out_.write_lines("image: " + shown.image.string());
    else if (!shown.spill_file.empty())
        out_.write_lines("display: " + shown.spill_file.string());
    else if (auto const* plain = ipybox::detail::display_text(shown))
        out_.write_lines(*plain);
}

void terminal_output::finished(std::size_t cell, result<execution_result> const& result) {
    // Who ended the run need not be told.
    if (result || result.error() == errc::not_running) return;
    if (output_of(result).exit_code) {
        if (auto const said = exit_text(result.error()); !said.empty()) err_.write_lines(said);
        return;
    }
    std::ostringstream text;
    auto const& error = result.error();
    if (was_printed(error)) return;
    // Where the code was when it had to be ended is worth knowing, too.
    if (error != errc::python_error) {
        if (error.exception())
            for (auto const& line : error.exception()->traceback) text << line << '\n';
        text << "ipybox: cell " << cell + 1 << ": ";
    }
    text << error;
    err_.write_lines(text.str());
}

} // namespace ipybox::cli
