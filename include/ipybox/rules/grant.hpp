#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/comparison.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox {

/**
 * \brief A permission given in advance: calls of tools or connections to hosts that a pattern describes, or one action
 * exactly.
 * \code
 * grant::tool("github.search").lasting(10min)                                            // this tool for ten minutes
 * grant::exactly(*request.subject())                                                     // this command, in this
 * session grant::host("*.example.org", 443)                                                       // these hosts, in
 * this session grant::tool("pay.*").where("amount", comparison::at_most, 100).at_most(2)              // small
 * payments, twice
 * \endcode
 * \par Thread safety Like a value.
 */
class grant {
  public:
    /// How an argument compares with a value.
    using comparison = detail::comparison;

    struct active;

    /// Copies share what they are about. Moving copies: what was moved from stays as it was.
    grant(grant const&) = default;
    /// As the constructor.
    grant& operator=(grant const&) = default;
    ~grant() = default;

    /// Calls of `server.tool`, both wildcards; see `tool_pattern::named`.
    [[nodiscard]] static grant tool(std::string_view pattern);

    /// Calls of the tool that is asked for, whatever the arguments.
    [[nodiscard]] static grant this_tool(approval_subject const& subject);

    /// Connections to hosts, a wildcard: `example.org`, `*.example.org`; to every port, where none is given.
    [[nodiscard]] static grant host(std::string_view pattern, std::optional<std::uint16_t> port = {});

    /// Connections to the host that is asked for, whichever the port.
    [[nodiscard]] static grant this_host(approval_subject const& subject);

    /// This action and no other: same arguments, or same program, arguments, directory, environment and input.
    [[nodiscard]] static grant exactly(approval_subject const& subject);

    /// Only where an argument is so; several conditions have to hold all. Only those of tools have any.
    [[nodiscard]] grant where(std::string path, comparison op, nlohmann::json value) &&;

    /// Only so often.
    [[nodiscard]] grant at_most(std::uint64_t uses) &&;

    /// Only so long from the moment it is given, at most ten years.
    [[nodiscard]] grant lasting(std::chrono::milliseconds time) &&;

    /// Only for the cell that asks.
    [[nodiscard]] grant in_this_cell() &&;

    /// True where the action is certainly what the grant is about.
    [[nodiscard]] bool covers(approval_subject const& subject) const;

    /// Whether it is about tools of the server of this name, and not of all servers.
    [[nodiscard]] bool is_about_server(std::string_view name) const;

    /// How often it accepts. None: as often as it is asked.
    [[nodiscard]] std::optional<std::uint64_t> const& uses() const noexcept { return uses_; }
    /// How long it accepts. None: as long as its executor lives.
    [[nodiscard]] std::optional<std::chrono::milliseconds> const& lifetime() const noexcept { return lifetime_; }
    /// Whether it accepts actions of one cell alone: of the one that it was given to.
    [[nodiscard]] bool for_one_cell() const noexcept { return for_one_cell_; }

    /**
     * \brief As in files and on the lines of programs.
     * \details `{"tool": "pay.*", "where": [{"path": "amount", "op": "<=", "value": 100}], "uses": 2, "seconds": 600,
     * "scope": "cell"}` or `{"host": "*.example.org", "port": 443}` or `{"action": {"kind": "shell", "argv":
     * ["/bin/sh", "-c", "ls"], "cwd": "/work"}}`.
     */
    [[nodiscard]] nlohmann::json to_json() const;

    /// The inverse; whatever else is there is errc::invalid_argument. `where` is the object's place in its document.
    [[nodiscard]] static result<grant> from_json(nlohmann::json const& value, std::string const& where = "grant");

  private:
    struct pattern_or_action;

    explicit grant(pattern_or_action what);

    std::shared_ptr<pattern_or_action const> what_;
    std::optional<std::uint64_t> uses_;
    std::optional<std::chrono::milliseconds> lifetime_;
    bool for_one_cell_ = false;
};

/// A grant that accepts actions now.
struct grant::active {
    std::uint64_t number = 0;                              ///< of the grant in its session, counted from 1
    grant what;                                            ///< as it was given
    std::optional<std::uint64_t> uses_left = std::nullopt; ///< none: without a bound
    std::optional<std::chrono::steady_clock::time_point> until = std::nullopt; ///< none: the end of the session
    std::string cell_id = {};                                                  ///< of one for a cell
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/grant.ipp>
#endif
