#include <ipybox/sandbox/parent_proxy_url.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/box_options.hpp>
#include <cli/limit.hpp>
#include <cli/offered_words.hpp>
#include <cli/option_checks.hpp>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox::cli {
namespace {

constexpr std::array<std::pair<std::string_view, sandbox_choice>, 5> sandbox_names{
    {{"bubblewrap", sandbox_choice::bubblewrap},
     {"landlock", sandbox_choice::landlock},
     {"srt", sandbox_choice::srt},
     {"best", sandbox_choice::best},
     {"none", sandbox_choice::none}}};

std::string check_sandbox(std::string const& name) {
    for (auto const& [known, choice] : sandbox_names)
        if (known == name) return {};
    return "'" + name + "' is none of bubblewrap, landlock, srt, best, none";
}

std::string check_access(std::string const& name) {
    if (system_access::named(name)) return {};
    std::string known;
    for (auto const access : system_access::all()) known.append(known.empty() ? "" : ", ").append(access.name());
    return "'" + name + "' is none of " + known;
}

std::vector<std::string> access_names() {
    std::vector<std::string> names;
    for (auto const access : system_access::all()) names.emplace_back(access.name());
    return names;
}

/// As --limit has them: "memory=".
std::vector<std::string> limit_beginnings() {
    auto beginnings = limit_names();
    for (auto& name : beginnings) name += '=';
    return beginnings;
}

std::string check_host(std::string const& pattern) {
    auto const read = sandbox_config::domain_pattern::parse(pattern);
    return read ? std::string() : read.error().text();
}

std::string check_address(std::string const& range) {
    auto const read = sandbox_config::address_range::parse(range);
    return read ? std::string() : read.error().text();
}

std::string check_proxy(std::string const& url) {
    if (url == "env") return {};
    auto const read = detail::parent_proxy_url::parse(url);
    return read ? std::string() : read.error().text() + ", or env";
}

std::string check_limit(std::string const& text) {
    sandbox_limits ignored;
    auto const set = set_limit(ignored, text);
    return set ? std::string() : set.error().text();
}

/// --allow-address, --proxy, --ca-certs
void add_network_options(CLI::App& command, network_choice& network) {
    command
        .add_option("--allow-address", network.addresses,
                    "Let hosts that are allowed lead to an address of your own network, for the code and for\n"
                    "packages: 10.20.0.0/16, 192.168.1.10; may be given more than once")
        ->type_name("RANGE")
        ->allow_extra_args(false)
        ->check(check_address);
    command
        .add_option("--proxy", network.proxy,
                    "Reach hosts through your network's proxy, http://[USER:PASSWORD@]HOST:PORT, but for those\n"
                    "of NO_PROXY; env: the one that HTTPS_PROXY or HTTP_PROXY names")
        ->type_name("URL")
        ->check(offers({"env"}))
        ->check(check_proxy);
    command
        .add_option("--ca-certs", network.certificates,
                    "Certificates (PEM) that pip and the code trust, as those of a proxy that looks into HTTPS\n"
                    "(default: for pip those of PIP_CERT, REQUESTS_CA_BUNDLE, SSL_CERT_FILE or pip.conf;\n"
                    "else the system's)")
        ->type_name("FILE")
        ->check(check_given)
        ->check(CLI::Validator(CLI::ExistingFile).description(""));
}

} // namespace

std::string_view name_of(sandbox_choice choice) noexcept {
    for (auto const& [name, its_choice] : sandbox_names)
        if (its_choice == choice) return name;
    return {};
}

std::vector<std::filesystem::path> existing(std::vector<std::filesystem::path> const& files) {
    std::vector<std::filesystem::path> found;
    for (auto const& named : files) {
        std::error_code missing;
        if (auto const file = std::filesystem::absolute(named, missing); !named.empty() && exists(file, missing))
            found.push_back(file);
    }
    return found;
}

std::vector<std::filesystem::path> box_options::deciding_files() const {
    return existing({rules, audit_log, mcp_config, sandbox_config});
}

CLI::Option* add_sandbox_option(CLI::App& command, sandbox_choice& sandbox) {
    auto const choose = [&sandbox](std::string const& name) {
        for (auto const& [known, choice] : sandbox_names)
            if (known == name) sandbox = choice;
    };
    return command
        .add_option_function<std::string>("--sandbox", choose,
                                          "What holds the kernel: bubblewrap (default), landlock, srt,\n"
                                          "best (bubblewrap, else landlock) or none")
        ->type_name("NAME")
        ->check(offers(names_in(sandbox_names)))
        ->check(check_sandbox);
}

void add_python_option(CLI::App& command, std::filesystem::path& python) {
    command.add_option("--python", python, "Interpreter of the kernel (default: a virtual environment, else python3)")
        ->type_name("PATH")
        ->check(check_given);
}

void add_working_dir_option(CLI::App& command, std::filesystem::path& working_dir) {
    command.add_option("--working-dir", working_dir, "Where the code runs and may write (default: here)")
        ->type_name("DIR")
        ->check(check_given)
        ->transform(CLI::Validator(expand_directory, ""))
        ->check(CLI::Validator(CLI::ExistingDirectory).description(""));
}

void add_home_option(CLI::App& command, box_options& options) {
    command.add_flag_callback(
        "--allow-home", [&options] { options.home = home_directory::allowed; },
        "Let the directory that is named be your home directory, or one above it, where code could\n"
        "change what other programs start with (docs/sandbox.md)");
}

void settle_working_directory(box_options& options, std::string const& option) {
    bool const is_open = options.sandbox == sandbox_choice::none; // there code writes to all of it anyway
    auto chosen =
        choose_working_directory(options.working_dir, option, is_open ? home_directory::allowed : options.home);
    options.working_dir = std::move(chosen.path);
    options.notice_of_directory = std::move(chosen.notice);
}

CLI::Option* add_sandbox_options(CLI::App& command, box_options& options, missing_config missing) {
    auto* const sandbox = add_sandbox_option(command, options.sandbox);
    auto* const config =
        command
            .add_option("--sandbox-config", options.sandbox_config,
                        "What code may read and write, as a JSON file of sandbox-runtime has it (docs/sandbox.md);\n"
                        "without it, the code writes to its working directory and reads no secrets")
            ->type_name("FILE")
            ->check(check_given);
    if (missing == missing_config::refused) config->check(CLI::Validator(CLI::ExistingFile).description(""));
    command
        .add_option("--allow-host", options.allowed_hosts,
                    "Let the code reach a host by name: pypi.org, *.example.org, pypi.org:443;\n"
                    "may be given more than once. Others are asked for, unless --sandbox-config says otherwise")
        ->type_name("HOST")
        ->allow_extra_args(false)
        ->check(check_host);
    add_network_options(command, options.network);
    auto const allow = [&options](std::vector<std::string> const& names) {
        for (auto const& name : names) options.allow.push_back(*system_access::named(name));
    };
    command
        .add_option_function<std::vector<std::string>>(
            "--allow", allow,
            "Leave a part of the system open: unix-sockets (what your services listen on), ptrace,\n"
            "user-namespaces, io-uring or perf-events; may be given more than once")
        ->type_name("NAME")
        ->allow_extra_args(false)
        ->check(offers(access_names()))
        ->check(check_access);
    auto const limit = [&options](std::vector<std::string> const& limits) {
        for (auto const& one : limits) (void)set_limit(options.limits, one);
    };
    command
        .add_option_function<std::vector<std::string>>(
            "--limit", limit,
            "What the code may take: memory=4G and cpu-time=60 (seconds) of each process,\n"
            "kernel-memory=8G and processes=500 of all that it starts, file-size=1G,\n"
            "open-files=1000, or =none; may be given more than once")
        ->type_name("NAME=N")
        ->allow_extra_args(false)
        ->check(offers(limit_beginnings()))
        ->check(check_limit);
    command
        .add_option("--cgroup", options.limits.cgroup,
                    "An empty control group (version 2) that was delegated to this user, as ../kernels or\n"
                    "/sys/fs/cgroup/...: the system limits kernel-memory and processes in it (docs/sandbox.md)")
        ->type_name("DIR")
        ->check(check_given);
    return sandbox;
}

void add_kernel_options(CLI::App& command, box_options& options) {
    command.add_option("--images-dir", options.images_dir, "Where pictures are saved (default: ./images)")
        ->type_name("DIR")
        ->transform(CLI::Validator(expand_directory, ""))
        ->check(check_given)
        ->check(check_output_directory);
    add_python_option(command, options.python);
    command
        .add_option("--cache", options.cache,
                    "Keep what libraries fetch (models, data, fonts) in this directory, for the code of later\n"
                    "runs alone (default: in one that is gone at the end)")
        ->type_name("DIR")
        ->transform(CLI::Validator(expand_directory, ""))
        ->check(check_given);
}

void add_server_options(CLI::App& command, box_options& options) {
    command
        .add_option("--mcp-config", options.mcp_config,
                    "Servers whose tools the code may call: their Python APIs are generated into mcptools/")
        ->type_name("FILE")
        ->check(check_given)
        ->check(CLI::Validator(CLI::ExistingFile).description(""));
    auto const set = [](std::optional<std::chrono::milliseconds>& timeout) {
        return [&timeout](double const& seconds) {
            timeout = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
        };
    };
    command
        .add_option_function<double>(
            "--tool-timeout", set(options.server_timeouts.tool),
            "Seconds that a tool call, or a server that is asked for its tools, may take; else\n"
            "the `timeout` of its entry, or 600 and 60")
        ->type_name("S")
        ->check(check_seconds);
    command
        .add_option_function<double>("--connect-timeout", set(options.server_timeouts.connect),
                                     "Seconds that a server may take to start; else the `connect_timeout` of its\n"
                                     "entry, or 30")
        ->type_name("S")
        ->check(check_seconds);
}

void add_package_options(CLI::App& command, package_choice& packages) {
    command
        .add_option("--packages", packages.directory,
                    "Install packages (%pip install) into this directory, from which the code\n"
                    "imports and to which it cannot write; pip runs outside of its sandbox")
        ->type_name("DIR")
        ->transform(CLI::Validator(expand_directory, ""))
        ->check(check_given);
    command.add_option("--package-index", packages.index, "URL of the index that pip asks (default: PyPI), or none")
        ->type_name("URL")
        ->check(offers({"none"}))
        ->check(check_given);
    command
        .add_option("--package-wheels", packages.wheels, "A directory with wheels for pip; may be given more than once")
        ->type_name("DIR")
        ->transform(CLI::Validator(expand_directory, ""))
        ->allow_extra_args(false)
        ->check(CLI::Validator(CLI::ExistingDirectory).description(""));
}

void add_action_options(CLI::App& command, box_options& options) {
    command.add_flag("--require-shell-escape", options.require_shell_escape,
                     "Let the code start programs by shell commands alone: every other way is closed");
    command
        .add_option("--audit-log", options.audit_log,
                    "Append every request, decision and outcome to this file, as JSON lines")
        ->type_name("FILE")
        ->check(check_given);
}

void check_sandbox_options(box_options const& options) {
    if (!options.sandbox_config.empty() && options.sandbox == sandbox_choice::none)
        throw CLI::ExcludesError("--sandbox-config has no effect with --sandbox none, leave out one of the two",
                                 CLI::ExitCodes::ExcludesError);
    if (!options.allowed_hosts.empty() && options.sandbox == sandbox_choice::none)
        throw CLI::ExcludesError("--allow-host has no effect with --sandbox none, leave out one of the two",
                                 CLI::ExitCodes::ExcludesError);
}

std::string why_no_rules_file(std::string const& word, std::string_view others) {
    std::error_code unknown;
    if (std::filesystem::is_regular_file(word, unknown)) return {};
    if (std::filesystem::exists(word, unknown))
        return "'" + word + "' is not a file of rules, nor " + std::string(others);
    return "the file '" + word + "' does not exist, and it is not " + std::string(others);
}

} // namespace ipybox::cli
