#pragma once

#include <ipybox/core/result.hpp>

#include <asio/ip/address.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox {

/**
 * \brief The rights of code in a sandbox: one configuration for every policy that can enforce it.
 * \details The text is that of sandbox-runtime (srt 0.0.83), https://github.com/anthropic-experimental/sandbox-runtime,
 * as it is; a list that is missing is that of the default. Keys that are meant for other systems or for srt's own
 * workings are accepted, and `notices` says so; keys that would have to be enforced and cannot be are errors.
 */
struct sandbox_config {
    /**
     * \brief A path of a sandbox's configuration.
     * \details Relative paths begin at the working directory, `~` is the home directory. `*`, `?` and `[…]` stand for
     * parts of a name, `**` for any number of directories, unless the path is `literal`.
     */
    struct path_entry {
        /// The path, with wildcards unless it is literal.
        std::string path;
        /// Wildcards stand for themselves.
        bool literal = false;

        /// Whether all members are equal.
        friend bool operator==(path_entry const&, path_entry const&) = default;
    };

    /// The access of code to files. Everything that is not named can be read and not written.
    struct file_access {
        /// Paths that cannot be read, and not be written either.
        std::vector<path_entry> deny_read;
        /// Paths within a directory of `deny_read` that can be read all the same.
        std::vector<path_entry> allow_read = {};
        /// Paths that can be written.
        std::vector<path_entry> allow_write;
        /// Paths within a directory of `allow_write` that can be read and not be written.
        std::vector<path_entry> deny_write = {};
        /// Whether `.git/config` can be written.
        bool allow_git_config = false;
    };

    /// IP addresses in CIDR notation (RFC 4632, RFC 4291 2.3): "10.0.0.0/8", "fc00::/7", or one address.
    class address_range {
      public:
        /// \par Errors errc::invalid_argument, with a sentence that quotes the text
        [[nodiscard]] static result<address_range> parse(std::string_view text);

        /// IPv4 addresses that are written as IPv6 ones count as what they stand for.
        [[nodiscard]] bool contains(asio::ip::address const& address) const noexcept;

        /// In CIDR notation: "10.0.0.0/8".
        [[nodiscard]] std::string text() const;

      private:
        address_range(asio::ip::address network, unsigned short prefix_length) noexcept
            : network_(network), prefix_length_(prefix_length) {}

        asio::ip::address network_; ///< its first address
        unsigned short prefix_length_;
    };

    /**
     * \brief Hosts of the network, as `allowedDomains` and `deniedDomains` of a sandbox's configuration name them.
     * \details `example.org` is that host alone, `*.example.org` every host below it and not itself; `:443` behind
     * either restricts it to a port. IPv6 addresses with a port stand in brackets: `[2001:db8::1]:443`. A pattern has
     * at least two labels, but for `localhost`, so that `*.org` is an error.
     */
    class domain_pattern {
      public:
        /// \par Errors errc::invalid_argument, with a sentence that quotes the pattern
        [[nodiscard]] static result<domain_pattern> parse(std::string_view text);

        /// As `parse`; `*` and `*:80` stand for every host, too. For lists of what is denied.
        [[nodiscard]] static result<domain_pattern> parse_denied(std::string_view text);

        /// \param host as `normal_host` returns it
        /// \param port the port that is to be reached
        [[nodiscard]] bool matches(std::string_view host, std::uint16_t port) const noexcept;

        /// The pattern as it was written.
        [[nodiscard]] std::string const& text() const noexcept { return text_; }

      private:
        enum class scope { one_host, hosts_below, every_host };

        domain_pattern(std::string_view text, std::string host, scope s, std::optional<std::uint16_t> port)
            : text_(text), host_(std::move(host)), scope_(s), port_(port) {}

        static result<domain_pattern> parse(std::string_view text, bool every_host_allowed);

        std::string text_;
        std::string host_; ///< of `hosts_below` without the star: ".example.org"
        scope scope_;
        std::optional<std::uint16_t> port_; ///< every port, when there is none
    };

    /// Which hosts code may reach. None, unless they are named.
    struct network_access {
        /// Hosts that can be reached by name.
        std::vector<domain_pattern> allowed_domains = {};
        std::vector<domain_pattern> denied_domains = {};               ///< before `allowed_domains`
        std::map<std::string, std::string> denied_domain_reasons = {}; ///< by the text of the pattern
        std::vector<address_range> denied_addresses = {};              ///< to which no name may lead
        /// Hosts of neither list are asked for, as actions are; else they are refused. In files: where any domain is
        /// allowed, unless `strictAllowlist` says otherwise.
        bool ask_for_others = false;

        /// Addresses that are not public, and to which allowed names may lead all the same. Of bubblewrap alone.
        std::vector<address_range> allowed_addresses = {};

        /// Hosts that may lead to any address, if they are allowed: an index of packages in one's own network. In code
        /// alone.
        std::vector<domain_pattern> trusted_domains = {};

        /// Looks up the addresses of a name; called on a thread of its own. Empty: as the system does. In code alone.
        std::function<result<std::vector<asio::ip::address>>(std::string const& host)> resolve = {};

        std::vector<std::filesystem::path> unix_sockets = {}; ///< those of the host that can be reached
        bool all_unix_sockets = false;                        ///< any family AF_UNIX socket can be made

        /// The URL of a proxy that the host's own connections go through, as that of a company: `http://proxy:3128`,
        /// with name and password where it asks for some. It looks names up; here `allowed_addresses` counts for hosts
        /// that are addresses alone. Empty: none.
        std::string parent_proxy = {};

        /// Hosts that are reached without it: names with all below them, addresses, ranges.
        std::vector<std::string> parent_proxy_exceptions = {};

        /// Whether code can reach any host at all.
        [[nodiscard]] bool opens_hosts() const noexcept { return !allowed_domains.empty() || ask_for_others; }
    };

    /**
     * \brief The meaning of a configuration on this machine at this moment, for one working directory.
     * \details All paths are absolute and without links; of several that contain a file the innermost counts. A path in
     * no list can be read, and not be written; it cannot be read either if `only_readable` names anything.
     */
    struct description {
        /// Paths that the code can write to.
        std::vector<std::filesystem::path> writable;
        /// Paths within `writable` that the code cannot write to, missing ones too: it cannot make them.
        std::vector<std::filesystem::path> read_only;
        /// Paths that the code cannot read.
        std::vector<std::filesystem::path> masked;
        /// Paths within `masked` that it can read all the same.
        std::vector<std::filesystem::path> readable;
        /// All that it can read, of a policy that opens directories in place of closing them.
        std::vector<std::filesystem::path> only_readable;
        /// Directories that are empty at the start, writable, and gone at the end.
        std::vector<std::filesystem::path> private_directories;
        /// Paths that would be masked, but did not exist.
        std::vector<std::filesystem::path> absent;
        /// Devices that it can use besides the harmless ones.
        std::vector<std::filesystem::path> devices;
        /// Hosts that it can reach.
        std::vector<std::string> hosts;
        /// It can reach other hosts when they are approved.
        bool asks_for_hosts = false;
        /// Variables that are taken out of its environment.
        std::vector<std::string> hidden_variables;
        /// A sentence for each entry that does less than it seems to.
        std::vector<std::string> notices;

        /// For people: a line for each list that is not empty, and for each notice.
        [[nodiscard]] std::string text() const;
    };

    /// The default: code writes to its working directory, reads no secrets that lie in usual places, and reaches no
    /// host.
    sandbox_config();

    /// The files that the code may read and write.
    file_access filesystem;
    /// The hosts that it may reach.
    network_access network;

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
