#pragma once

#include <ipybox/os/claimed_directory.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/packages/package_layer.hpp>
#include <ipybox/packages/pip_certificates.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox {
namespace detail {

/// The host of PyPI's files.
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

inline result<void> add_host(sandbox_config::network_access& network, std::string_view host) {
    auto pattern = sandbox_config::domain_pattern::parse(host);
    if (!pattern) return failure(pattern);
    network.trusted_domains.push_back(*pattern);
    network.allowed_domains.push_back(std::move(*pattern));
    return {};
}

/// Opens the hosts that the index needs.
inline result<void> open_index(package_layer::options& options) {
    options.network.ask_for_others = false;
    if (options.index.empty()) return {};
    auto const host = host_of_index(options.index);
    if (!host) return failure(host.error());
    if (auto added = add_host(options.network, *host); !added) return added;
    return *host == pypi ? add_host(options.network, files_of_pypi) : result<void>();
}

/// Refuses a layer behind a link that code may have made: it would be read from, and written to, wherever that leads.
inline result<void> refuse_links(std::filesystem::path const& directory) {
    std::error_code failed;
    auto const here = std::filesystem::current_path(failed);
    auto const whole = (here / directory).lexically_normal();
    std::filesystem::path part;
    for (auto const& name : whole) {
        part /= name;
        bool const is_last = part == whole || part / "" == whole;
        bool const is_below = here != here.root_path() && part != here && os::lies_in(part, here);
        if ((is_last || is_below) && std::filesystem::is_symlink(part, failed))
            return failure(errc::invalid_argument,
                           "the package layer " + directory.string() + " is behind the link " + part.string() +
                               ", which code may have made; name the directory " + "that it leads to");
    }
    return {};
}

/// The directory itself, whatever has its path later; none where it is no directory.
inline std::optional<std::pair<dev_t, ino_t>> identity_of(std::filesystem::path const& directory) noexcept {
    struct stat found{};
    if (::lstat(directory.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return std::nullopt;
    return std::pair(found.st_dev, found.st_ino);
}

} // namespace detail

IPYBOX_DECL package_layer::package_layer(options chosen, std::shared_ptr<os::claimed_directory const> own,
                                         std::filesystem::path path)
    : options_(std::move(chosen)), own_(std::move(own)), path_(std::move(path)), identity_(detail::identity_of(path_)) {
}

IPYBOX_DECL result<std::shared_ptr<package_layer const>> package_layer::make() { return make(options()); }

IPYBOX_DECL bool package_layer::is_in_place() const noexcept {
    return identity_ && detail::identity_of(path_) == identity_;
}

IPYBOX_DECL result<std::shared_ptr<package_layer const>> package_layer::make(options chosen) {
    if (auto opened = detail::open_index(chosen); !opened) return failure(opened);
    auto certificates = detail::pip_certificates(chosen.certificates);
    if (!certificates) return failure(certificates);
    chosen.certificates = *std::move(certificates);
    std::shared_ptr<os::claimed_directory const> own;
    if (chosen.directory.empty()) {
        auto made = os::claimed_directory::make("ipybox-packages");
        if (!made) return failure(made);
        chosen.directory = made->path();
        own = std::make_shared<os::claimed_directory>(std::move(*made));
    }
    if (auto direct = detail::refuse_links(chosen.directory); !direct) return failure(direct);
    std::error_code failed;
    std::filesystem::create_directories(chosen.directory, failed);
    auto path = failed ? std::filesystem::path() : std::filesystem::canonical(chosen.directory, failed);
    if (failed)
        return failure(detail::system_failure("the package layer " + chosen.directory.string(), failed.value()));
    for (auto& wheels : chosen.wheels) wheels = std::filesystem::absolute(wheels, failed).lexically_normal();
    return std::shared_ptr<package_layer const>(
        new package_layer(std::move(chosen), std::move(own), std::move(path))); // its constructor is private
}

} // namespace ipybox
