#pragma once

#include <ipybox/core/json_depth.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/impl/supervisor_limits.hpp>
#include <ipybox/kernel/impl/supervisor_message.hpp>

#include <system_error>
#include <utility>

namespace ipybox::detail {

template <class Number>
std::optional<Number> number_in(json const& object, char const* name) {
    auto const found = object.find(name);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    return found->template get<Number>();
}

/// Why a request was refused.
inline error refusal_in(json const& refused) {
    auto const kind = jupyter::message::field(refused, "kind");
    auto const code = kind == "cwd"     ? errc::invalid_argument
                      : kind == "walls" ? errc::sandbox_unavailable
                      : kind == "guard" ? errc::guard_unavailable
                                        : errc::kernel_start_failed;
    error why(code, jupyter::message::field(refused, "text"));
    if (auto const number = number_in<int>(refused, "errno")) why.with_cause({*number, std::generic_category()});
    return why;
}

inline error failed_start(json const& event) {
    auto const kind = jupyter::message::field(event, "kind");
    auto const code = kind == "ipykernel_missing" ? errc::ipykernel_missing
                      : kind == "unsupported"     ? errc::ipykernel_unsupported
                                                  : errc::kernel_start_failed;
    return error(code, jupyter::message::field(event, "text"));
}

inline supervisor_message::any event_in(json const& message) {
    auto const kind = jupyter::message::field(message, "event");
    if (kind == "failed") return supervisor_message::failed{failed_start(message)};
    if (kind == "ready")
        return supervisor_message::ready{
            {jupyter::message::field(message, "executable"), jupyter::message::field(message, "python"),
             jupyter::message::field(message, "ipykernel"), jupyter::message::field(message, "ipython"),
             jupyter::message::field(message, "level")}};
    auto const pid = kind == "exit" ? number_in<int>(message, "pid") : std::nullopt;
    if (!pid) return supervisor_message::unknown();
    exit_status status{number_in<int>(message, "code"), number_in<int>(message, "signal"), exceeded_in(message)};
    return supervisor_message::exited{*pid, std::move(status)};
}

IPYBOX_DECL result<supervisor_message::any> read_supervisor_message(std::string_view datagram) {
    auto message = detail::parse_json(datagram);
    if (!message.is_object())
        return failure(errc::protocol_error, "the supervisor sent something that is no JSON object");
    if (nests_deeper_than(supervisor_message::deepest, message))
        return failure(errc::protocol_error, "the supervisor sent JSON that nests too deeply");
    if (message.contains("event")) return event_in(message);
    auto const id = number_in<std::int64_t>(message, "id");
    auto const refused = message.find("error");
    if (refused != message.end())
        return supervisor_message::any(supervisor_message::answer{id, failure(refusal_in(*refused))});
    return supervisor_message::any(supervisor_message::answer{id, std::move(message)});
}

} // namespace ipybox::detail
