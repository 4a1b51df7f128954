#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/address_range.hpp>
#include <ipybox/sandbox/domain_pattern.hpp>

#include <asio/ip/address.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox {

/**
 * \brief A path of a sandbox's configuration.
 * \details Relative paths begin at the working directory, `~` is the home directory. `*`, `?` and `[…]` stand for parts
 * of a name, `**` for any number of directories, unless the path is `literal`.
 */
struct config_path {
    /// The path, with wildcards unless it is literal.
    std::string path;
    /// Wildcards stand for themselves.
    bool literal = false;

    /// Whether all members are equal.
    friend bool operator==(config_path const&, config_path const&) = default;
};

/// The access of code to files. Everything that is not named can be read and not written.
struct filesystem_config {
    std::vector<config_path> deny_read;       ///< cannot be read, and not be written either
    std::vector<config_path> allow_read = {}; ///< can be read all the same, within a directory of `deny_read`
    std::vector<config_path> allow_write;     ///< can be written
    std::vector<config_path> deny_write = {}; ///< can be read and not be written, within a directory of `allow_write`
    bool allow_git_config = false;            ///< `.git/config` can be written
};

/// Which hosts code may reach. None, unless they are named.
struct network_config {
    /// Hosts that can be reached by name.
    std::vector<domain_pattern> allowed_domains = {};
    std::vector<domain_pattern> denied_domains = {};               ///< before `allowed_domains`
    std::map<std::string, std::string> denied_domain_reasons = {}; ///< by the text of the pattern
    std::vector<address_range> denied_addresses = {};              ///< to which no name may lead
    /// Hosts of neither list are asked for, as actions are; else they are refused. In files: where any domain is
    /// allowed, unless `strictAllowlist` says otherwise.
    bool ask_for_others = false;

    /// Addresses that are not public, and to which allowed names may lead all the same. In code alone.
    std::vector<address_range> allowed_addresses = {};

    /// Looks up the addresses of a name; called on a thread of its own. Empty: as the system does. In code alone.
    std::function<result<std::vector<asio::ip::address>>(std::string const& host)> resolve = {};

    std::vector<std::filesystem::path> unix_sockets = {}; ///< those of the host that can be reached
    bool all_unix_sockets = false;                        ///< any family AF_UNIX socket can be made
    std::string parent_proxy = {};                        ///< URL of a proxy that the host's own connections go through

    /// Whether code can reach any host at all.
    [[nodiscard]] bool opens_hosts() const noexcept { return !allowed_domains.empty() || ask_for_others; }
};

/**
 * \brief The rights of code in a sandbox: one configuration for every policy that can enforce it.
 * \details The text is that of sandbox-runtime (srt 0.0.83), https://github.com/anthropic-experimental/sandbox-runtime,
 * as it is; a list that is missing is that of the default. Keys that are meant for other systems or for srt's own
 * workings are accepted, and `notices` says so; keys that would have to be enforced and cannot be are errors.
 */
struct sandbox_config {
    /// The default: code writes to its working directory, reads no secrets that lie in usual places, and reaches no
    /// host.
    sandbox_config();

    /// The files that the code may read and write.
    filesystem_config filesystem;
    /// The hosts that it may reach.
    network_config network;

    /// Devices that code may use: paths of character devices below /dev, `nvidia` for all of NVIDIA's. The harmless
    /// ones need not be named.
    std::vector<std::string> devices = {};

    /// Variables that are taken out of the environment.
    std::vector<std::string> hidden_variables = {};

    /// How many directories below a writable one are searched for files that decide what other programs do
    /// (`.git/hooks`, `.bashrc`, …).
    int search_depth = 3;

    /// The code may make user namespaces of its own.
    bool nested_user_namespaces = false;

    /// The `bwrap` program; empty: the one on PATH.
    std::filesystem::path bwrap = {};

    /// One sentence for each key that was accepted and means nothing here.
    std::vector<std::string> notices = {};

    /**
     * \brief Reads a configuration from JSON text.
     * \param text the configuration as JSON
     * \param name what the texts of errors call it
     * \par Errors errc::invalid_argument, "NAME:LINE: filesystem/allowWrite: …" — it is not JSON; a key is unknown,
     * twice there, of the wrong type or cannot be enforced
     */
    [[nodiscard]] static result<sandbox_config> parse(std::string_view text,
                                                      std::string_view name = "sandbox configuration");

    /// As `parse`. \par Errors also errc::io_error — the file cannot be read
    [[nodiscard]] static result<sandbox_config> load(std::filesystem::path const& file);

    /**
     * \brief The configuration as JSON that srt reads, and `parse`.
     * \details `parse` makes the same configuration of it, but for `notices`: keys that mean nothing here were not
     * kept.
     */
    [[nodiscard]] std::string text() const;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/sandbox_config.ipp>
#endif
