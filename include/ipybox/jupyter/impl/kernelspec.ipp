#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/jupyter/kernelspec.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/os/read_file.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace ipybox::jupyter {
namespace detail {

inline std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// jupyter_client.kernelspec: ASCII letters, digits, '-', '.', '_'.
inline bool is_kernel_name(std::string_view name) {
    auto const fits = [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '.' || c == '_' || c == '-'); };
    return !name.empty() && name != "." && name != ".." && std::all_of(name.begin(), name.end(), fits);
}

inline std::filesystem::path prefix_of(std::filesystem::path const& python) {
    return python.parent_path().parent_path();
}

inline std::string variable(environment const& env, char const* name) {
    auto const found = env.find(name);
    return found == env.end() ? std::string() : found->second;
}

/// The kernelspec that `python -m ipykernel install` would write.
inline kernelspec native_kernelspec() {
    kernelspec spec;
    spec.name = "python3";
    spec.display_name = "Python 3 (ipykernel)";
    spec.language = "python";
    spec.argv = {"python", "-m", "ipykernel_launcher", "-f", "{connection_file}"};
    return spec;
}

inline bool is_name_char(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); }

/// Python's string.Template.safe_substitute, as jupyter_client uses it.
inline std::string substitute(std::string_view text, environment const& values) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] != '$' || at + 1 == text.size()) {
            out.push_back(text[at++]);
            continue;
        }
        if (text[at + 1] == '$') {
            out.push_back('$');
            at += 2;
            continue;
        }
        bool const braced = text[at + 1] == '{';
        auto const begin = at + (braced ? 2 : 1);
        auto end = begin;
        while (end < text.size() && is_name_char(text[end])) ++end;
        auto const name = std::string(text.substr(begin, end - begin));
        bool const closed = !braced || (end < text.size() && text[end] == '}');
        auto const known = values.find(name);
        auto const next = std::min(text.size(), end + (braced && closed ? 1 : 0));
        if (closed && known != values.end())
            out += known->second;
        else
            out += text.substr(at, next - at);
        at = next;
    }
    return out;
}

/// Replaces `{name}` where the name is known (jupyter_client.manager.format_kernel_cmd).
inline std::string fill_fields(std::string_view text, std::map<std::string, std::string, std::less<>> const& fields) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        auto const close = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
        auto const known =
            close == std::string_view::npos ? fields.end() : fields.find(text.substr(at + 1, close - at - 1));
        if (known == fields.end()) {
            out.push_back(text[at++]);
            continue;
        }
        out += known->second;
        at = close + 1;
    }
    return out;
}

} // namespace detail

IPYBOX_DECL std::vector<std::filesystem::path> kernelspec_dirs(environment const& env,
                                                               std::filesystem::path const& python) {
    std::vector<std::filesystem::path> data;
    auto const extra = detail::variable(env, "JUPYTER_PATH");
    for (std::size_t at = 0; at < extra.size();) {
        auto const end = std::min(extra.find(':', at), extra.size());
        if (end > at) data.emplace_back(extra.substr(at, end - at));
        at = end + 1;
    }

    std::filesystem::path user;
    if (auto const dir = detail::variable(env, "JUPYTER_DATA_DIR"); !dir.empty())
        user = dir;
    else if (auto const xdg = detail::variable(env, "XDG_DATA_HOME"); !xdg.empty())
        user = std::filesystem::path(xdg) / "jupyter";
    else if (auto const home = detail::variable(env, "HOME"); !home.empty())
        user = std::filesystem::path(home) / ".local/share/jupyter";

    std::filesystem::path own;
    bool isolated = false;
    if (python.is_absolute()) {
        auto const prefix = detail::prefix_of(python);
        std::error_code ignored;
        isolated = std::filesystem::exists(prefix / "pyvenv.cfg", ignored);
        own = prefix / "share/jupyter";
    }
    if (isolated) std::swap(own, user);
    for (auto const& dir : {user, own})
        if (!dir.empty()) data.push_back(dir);
    data.emplace_back("/usr/local/share/jupyter");
    data.emplace_back("/usr/share/jupyter");

    std::vector<std::filesystem::path> dirs;
    for (auto const& dir : data) {
        auto kernels = (dir / "kernels").lexically_normal();
        if (std::find(dirs.begin(), dirs.end(), kernels) == dirs.end()) dirs.push_back(std::move(kernels));
    }
    return dirs;
}

IPYBOX_DECL result<kernelspec> parse_kernelspec(std::string_view text) {
    auto const bad = [](char const* what) {
        return failure(errc::protocol_error, std::string("kernel.json: ") + what);
    };
    auto const object = ipybox::detail::parse_json(text);
    if (!object.is_object()) return bad("it is no JSON object");

    kernelspec spec;
    auto const argv = object.find("argv");
    if (argv == object.end() || !argv->is_array() || argv->empty()) return bad("argv is no list of texts");
    for (auto const& argument : *argv) {
        if (!argument.is_string()) return bad("argv is no list of texts");
        spec.argv.push_back(argument.get<std::string>());
    }
    if (spec.argv.front().empty()) return bad("argv has no program");
    spec.display_name = message::field(object, "display_name");
    spec.language = detail::lower(message::field(object, "language"));

    if (auto const env = object.find("env"); env != object.end() && !env->is_null()) {
        if (!env->is_object()) return bad("env is no object of texts");
        for (auto const& [name, value] : env->items()) {
            if (!value.is_string()) return bad("env is no object of texts");
            spec.env[name] = value.get<std::string>();
        }
    }
    if (auto const mode = object.find("interrupt_mode"); mode != object.end() && !mode->is_null()) {
        auto const name = mode->is_string() ? detail::lower(mode->get<std::string>()) : std::string();
        if (name != "signal" && name != "message") return bad("interrupt_mode is neither signal nor message");
        spec.interrupts = name == "message" ? interrupt_mode::message : interrupt_mode::signal;
    }
    return spec;
}

IPYBOX_DECL result<kernelspec> find_kernelspec(std::string_view name, std::vector<std::filesystem::path> const& dirs) {
    if (!detail::is_kernel_name(name))
        return failure(errc::invalid_argument,
                       "'" + std::string(name) +
                           "' cannot be the name of a kernelspec: it has other characters than letters, "
                           "digits, '.', '_' and '-'");
    auto const wanted = detail::lower(name);
    std::set<std::string> names;
    for (auto const& dir : dirs) {
        std::error_code failed;
        for (std::filesystem::directory_iterator it(dir, failed), end; !failed && it != end; it.increment(failed)) {
            auto const file = it->path() / "kernel.json";
            std::error_code ignored;
            if (!std::filesystem::is_regular_file(file, ignored)) continue;
            auto const found = detail::lower(it->path().filename().string());
            if (found != wanted) {
                names.insert(found);
                continue;
            }
            constexpr std::size_t longest = std::size_t(1) << 20;
            auto const text = os::read_file(file, file.string(), longest);
            if (!text) return failure(text.error());
            auto spec = parse_kernelspec(*text);
            if (!spec) return failure(errc::protocol_error, file.string() + ": " + spec.error().text());
            spec->name = wanted;
            spec->resource_dir = it->path();
            return spec;
        }
    }
    if (wanted == "python3") return detail::native_kernelspec();

    // The interpreter's own kernel is there even where it was not registered.
    names.insert("python3");
    auto text = "there is no kernelspec '" + wanted + "'; there are:";
    for (auto const& other : names) text += " " + other;
    text += "; searched:";
    for (auto const& dir : dirs) text += " " + dir.string();
    return failure(errc::kernelspec_not_found, std::move(text));
}

IPYBOX_DECL std::vector<std::string> kernel_command(kernelspec const& spec,
                                                    std::filesystem::path const& connection_file,
                                                    std::filesystem::path const& python) {
    auto argv = spec.argv;
    auto& program = argv.front();
    std::error_code ignored;
    auto const resolved = std::filesystem::canonical(python, ignored).filename().string();
    if (program == "python" || program == "python3" || (program == resolved && program.starts_with("python")))
        program = python.string();
    std::map<std::string, std::string, std::less<>> const fields = {{"connection_file", connection_file.string()},
                                                                    {"resource_dir", spec.resource_dir.string()},
                                                                    {"prefix", detail::prefix_of(python).string()}};
    for (auto& argument : argv) argument = detail::fill_fields(argument, fields);
    return argv;
}

IPYBOX_DECL environment kernel_environment(kernelspec const& spec, environment env) {
    auto const before = env;
    for (auto const& [name, value] : spec.env) env[name] = detail::substitute(value, before);
    return env;
}

} // namespace ipybox::jupyter
