#pragma once

#include <ipybox/packages/package_layer.hpp>
#include <ipybox/sandbox/domain_pattern.hpp>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox {
namespace detail {

/// Where PyPI keeps its files.
inline constexpr std::string_view pypi = "pypi.org:443";
inline constexpr std::string_view files_of_pypi = "files.pythonhosted.org:443";

/// The host and port of an index. Its URL is not quoted: it may have a password.
inline result<std::string> host_of_index(std::string_view url) {
    bool const is_plain = url.starts_with("http://");
    if (!is_plain && !url.starts_with("https://"))
        return failure(errc::invalid_argument, "the index of packages must be a URL of http or https");
    url.remove_prefix(url.find("//") + 2);
    auto authority = url.substr(0, url.find_first_of("/?#"));
    if (auto const at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
    bool const has_port = authority.rfind(':') != std::string_view::npos && !authority.ends_with(']');
    return std::string(authority) + (has_port ? "" : is_plain ? ":80" : ":443");
}

inline result<void> add_host(network_config& network, std::string_view host) {
    auto pattern = domain_pattern::parse(host);
    if (!pattern) return failure(pattern);
    network.allowed_domains.push_back(std::move(*pattern));
    return {};
}

/// Opens the hosts that the index needs.
inline result<void> open_index(package_options& options) {
    options.network.ask_for_others = false;
    if (options.index.empty()) return {};
    auto const host = host_of_index(options.index);
    if (!host) return failure(host.error());
    if (auto added = add_host(options.network, *host); !added) return added;
    return *host == pypi ? add_host(options.network, files_of_pypi) : result<void>();
}

} // namespace detail

IPYBOX_DECL result<std::shared_ptr<package_layer const>> package_layer::make(package_options options) {
    if (auto opened = detail::open_index(options); !opened) return failure(opened);
    std::optional<os::claimed_directory> own;
    if (options.directory.empty()) {
        auto made = os::claimed_directory::make("ipybox-packages");
        if (!made) return failure(made);
        options.directory = made->path();
        own.emplace(std::move(*made));
    }
    std::error_code failed;
    std::filesystem::create_directories(options.directory, failed);
    auto path = failed ? std::filesystem::path() : std::filesystem::canonical(options.directory, failed);
    if (failed) return failure(system_failure("the package layer " + options.directory.string(), failed.value()));
    for (auto& wheels : options.wheels) wheels = std::filesystem::absolute(wheels, failed).lexically_normal();
    return std::shared_ptr<package_layer const>(
        new package_layer(std::move(options), std::move(own), std::move(path))); // its constructor is private
}

} // namespace ipybox
