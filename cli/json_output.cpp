#include <ipybox/core/base64.hpp>
#include <ipybox/core/json_text.hpp>

#include <cli/json_output.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace ipybox::cli {
namespace {

using json = nlohmann::ordered_json;

void write_line(output_file& out, json const& event) { out.write(json_text(event) + '\n'); }

json path_or_null(std::filesystem::path const& path) { return path.empty() ? json() : json(path.string()); }

/// A JSON text on one line: between its values, kernels that are not ours may break it.
std::string on_one_line(std::string text) {
    std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
}

/// The values of a display by MIME type, as JSON text: a number in it has as many digits as it had.
std::string data_of(display::mime_bundle const& data) {
    std::string text = "{";
    for (auto const& e : data.entries()) {
        text += (text.size() > 1 ? "," : "") + json_text(json(e.type)) + ":";
        switch (e.kind) {
        case display::mime_bundle::encoding::text: text += json_text(json(e.value)); break;
        case display::mime_bundle::encoding::bytes: text += json_text(json(base64_encode(e.value))); break;
        case display::mime_bundle::encoding::json: text += on_one_line(e.value); break;
        }
    }
    return text + "}";
}

/// The `status` of a cell that failed, and the `ename` where no exception has one.
struct failure_words {
    std::string_view status;
    std::string_view ename;
};

failure_words words_for(error const& error) {
    if (error == condition::timeout) return {"timeout", "TimeoutError"};
    if (error == condition::cancelled || error == errc::not_running) return {"cancelled", "CancelledError"};
    if (error == condition::kernel_lost) return {"kernel_died", "KernelDied"};
    return {"error", "IpyboxError"};
}

json error_of(error const& error) {
    auto const* exception = error.exception();
    auto const traceback = exception ? json(exception->traceback) : json::array();
    if (error == errc::python_error)
        return {{"ename", exception->ename}, {"evalue", exception->evalue}, {"traceback", traceback}};
    return {{"ename", words_for(error).ename}, {"evalue", error.text()}, {"traceback", traceback}};
}

} // namespace

void json_output::text(std::size_t cell, output_chunk const& chunk) {
    json event{{"event", "chunk"}, {"cell", cell}, {"stream", to_string(chunk.stream)}, {"text", chunk.text}};
    if (chunk.replaces_line) event["replaces_line"] = true;
    write_line(out_, event);
}

void json_output::shown(std::size_t cell, display const& shown) {
    json const begin{{"event", "display"}, {"cell", cell}, {"kind", to_string(shown.kind)}};
    json const end{{"display_id", shown.id.empty() ? json() : json(shown.id)},
                   {"image", path_or_null(shown.image)},
                   {"spill_file", path_or_null(shown.spill_file)}};
    auto line = json_text(begin);
    line.back() = ',';
    // Its text, so that numbers of any size arrive as they are.
    auto const metadata =
        json::parse(shown.metadata, nullptr, false).is_object() ? on_one_line(shown.metadata) : std::string("{}");
    line += R"("data":)" + data_of(shown.data) + R"(,"metadata":)" + metadata + ",";
    out_.write(line + json_text(end).substr(1) + '\n');
}

void json_output::cleared(std::size_t cell) { write_line(out_, {{"event", "clear"}, {"cell", cell}}); }

void json_output::approval_wanted(std::size_t cell, approval_request const& request) {
    auto env = json::object();
    for (auto const& [name, value] : request.env()) env[name] = value ? json(*value) : json();
    json event = {{"event", "approval"},
                  {"cell", cell},
                  {"id", request.id()},
                  {"kind", to_string(request.kind())},
                  {"server", request.server()},
                  {"tool", request.tool()},
                  {"arguments", request.arguments()},
                  {"argv", request.argv()},
                  {"cwd", request.cwd().string()},
                  {"env_difference", std::move(env)},
                  {"stdin", request.subject()->input},
                  {"code", request.code()}};
    if (auto const& exact = request.subject()->exact_arguments; !exact.empty()) event["exact_arguments"] = exact;
    if (auto const& wanted = *request.subject(); wanted.kind == approval_subject::action::network) {
        event["host"] = wanted.host;
        event["port"] = wanted.port;
        event["protocol"] = wanted.protocol;
    }
    if (auto const& uri = request.subject()->uri; !uri.empty()) event["uri"] = uri;
    if (auto const& prompt = request.subject()->prompt; !prompt.empty()) event["prompt"] = prompt;
    write_line(out_, event);
}

void json_output::finished(std::size_t cell, result<execution_result> const& result) {
    auto const& output = output_of(result);
    auto images = json::array();
    for (auto const& image : output.images) images.push_back(image.string());
    write_line(out_, {{"event", "result"},
                      {"cell", cell},
                      {"status", output.exit_code ? "exited"
                                 : result         ? "ok"
                                                  : words_for(result.error()).status},
                      {"exit_code", output.exit_code ? json(*output.exit_code) : json()},
                      {"text", output.text},
                      {"images", std::move(images)},
                      {"seconds", std::chrono::duration<double>(output.elapsed).count()},
                      {"error", result ? json() : error_of(result.error())},
                      {"kernel_restarted", output.kernel_restarted},
                      {"spill_file", path_or_null(output.spill_file)}});
}

} // namespace ipybox::cli
