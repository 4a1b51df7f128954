#pragma once

#include <ipybox/approval/verdict.hpp>
#include <ipybox/core/exit_status.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

namespace ipybox {

namespace detail {

/// How an accepted action ended. No text of servers or programs: it could tell secrets of the host.
struct action_outcome {
    std::error_code failure = {};                      ///< none where it was done
    std::string why = {};                              ///< what this library has to say of the failure; may be empty
    std::optional<exit_status> status = std::nullopt;  ///< of a program
    std::chrono::steady_clock::duration duration = {}; ///< from its start to its end
    std::optional<std::uint64_t> result_size = std::nullopt; ///< bytes of the result of a tool
    std::optional<std::uint64_t> sent = std::nullopt;        ///< bytes that a connection brought to its host
    std::optional<std::uint64_t> received = std::nullopt;    ///< bytes that a connection brought from its host
};

} // namespace detail

/**
 * \brief An append-only log of JSON lines: each request, decision and outcome; see docs/approvals.md for the members.
 * \details A record is one `write` in append mode, so that threads and processes can share a file. The command lines,
 * headers and environments of tool servers are not part of a request and gets nowhere near the log.
 * \par Errors errc::audit_failed; none where `on_failure` has been told.
 * \par Thread safety Safe, shared objects too.
 */
class audit_log {
  public:
    /// How an audit log is kept. Members are given in this order.
    struct options {
        /// Appended to; made with mode 0600 where it does not exist, its directory is not. Keep it away from the
        /// working directory.
        std::filesystem::path file;

        /// Whether each record is on the disk before the action goes on (fdatasync), and so survives a crash of the
        /// machine. False: the operating system writes it when it likes; it survives the end of this process.
        bool sync = false;

        /// Is told of each record that could not be written, and the action goes on. Without it, what cannot be
        /// recorded is rejected.
        std::function<void(error const&)> on_failure = {};

        /// Arguments, argv, input and code with more bytes than this are recorded as their length and SHA-256.
        std::size_t longest_value = std::size_t(4) << 10;

        /// The present time. Empty: the system's clock.
        std::function<std::chrono::system_clock::time_point()> clock = {};
    };

    /// Opens the log. errc::audit_failed
    [[nodiscard]] static result<std::shared_ptr<audit_log>> open(options how);

    /// Records a request of the session with that name; an empty name is left out. \par Errors errc::audit_failed
    [[nodiscard]] result<void> request(approval_subject const& subject, std::string_view session = {});
    /// Records the decision about a request. \par Errors errc::audit_failed
    [[nodiscard]] result<void> decision(std::uint64_t id, detail::verdict const& said);
    /// Records how an action ended. \par Errors errc::audit_failed
    [[nodiscard]] result<void> outcome(std::uint64_t id, detail::action_outcome const& ended);

  private:
    audit_log(options how, os::unique_fd file);

    [[nodiscard]] nlohmann::ordered_json record(std::string_view what, std::uint64_t id) const;
    void bound(nlohmann::ordered_json& record, char const* name) const;
    [[nodiscard]] bool knows_code(std::string const& digest);
    void learn_code(std::string const& digest);
    [[nodiscard]] result<void> write(nlohmann::ordered_json const& record);
    [[nodiscard]] std::optional<error> append(std::string line);

    options const options_;
    std::string const run_; ///< ids are unique in it
    std::mutex mutex_;
    os::unique_fd const file_;
    std::set<std::string> known_code_; ///< digests of what has been recorded
    bool torn_ = false;                ///< the file ends in the middle of a record
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/gate/impl/audit_log.ipp>
#endif
