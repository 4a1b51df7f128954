#pragma once

#include <ipybox/core/exit_status.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/kernel/supervisor.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace ipybox::detail {

using json = nlohmann::json;

/// The messages of a supervisor, docs/kernel-protocol.md section 2.
namespace supervisor_message {

/// JSON nests no deeper than this.
inline constexpr std::size_t deepest = 64;

struct answer {
    std::optional<std::int64_t> id; ///< of the request; none: there is none that it could be
    result<json> outcome;
};

struct ready {
    supervisor_info info;
};

struct failed {
    error why;
};

/// A process that it has started has ended.
struct exited {
    int pid;
    exit_status status;
};

struct unknown {}; ///< an event that this side does not know

using any = std::variant<answer, ready, failed, exited, unknown>;

} // namespace supervisor_message

/// \par Errors errc::protocol_error — it is not JSON of a message
[[nodiscard]] result<supervisor_message::any> read_supervisor_message(std::string_view datagram);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/supervisor_message.ipp>
#endif
