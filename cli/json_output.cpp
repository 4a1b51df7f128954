#include <ipybox/core/json_text.hpp>

#include <cli/json_output.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace ipybox::cli {
namespace {

using json = nlohmann::ordered_json;

void write_line(output_file& out, json const& event) { out.write(json_text(event) + '\n'); }

json path_or_null(std::filesystem::path const& path) { return path.empty() ? json() : json(path.string()); }

json object_or_empty(std::string const& text) {
    auto parsed = json::parse(text, nullptr, false);
    return parsed.is_object() ? parsed : json::object();
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
    write_line(out_, {{"event", "chunk"}, {"cell", cell}, {"stream", to_string(chunk.stream)}, {"text", chunk.text}});
}

void json_output::shown(std::size_t cell, display const& shown) {
    write_line(out_, {{"event", "display"},
                      {"cell", cell},
                      {"kind", to_string(shown.kind)},
                      {"data", shown.data.to_json()},
                      {"metadata", object_or_empty(shown.metadata)},
                      {"display_id", shown.id.empty() ? json() : json(shown.id)},
                      {"image", path_or_null(shown.image)},
                      {"spill_file", path_or_null(shown.spill_file)}});
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
