#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/rules/grant.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {
class audit_log;
}

namespace ipybox::detail {

/// The settings that decide about actions besides the approval policy. Members are given in this order.
struct approval_settings {
    /// False: tool calls are accepted without asking, unless a rule denies them. Says nothing about other kinds.
    bool approve_tool_calls = true;

    /// False: shell commands and magics are accepted without asking, unless a rule denies them. Says nothing about
    /// other kinds.
    bool approve_shell_cmds = true;

    /// How long each request may wait for its decision; then it is rejected. None: until its cell ends.
    std::optional<std::chrono::milliseconds> approval_timeout = std::nullopt;

    /// How many actions one cell may ask for, of all kinds, also those that are accepted without asking. None: no
    /// limit.
    std::optional<std::uint64_t> calls_per_cell = std::nullopt;

    /// The treatment of a rejected action that its cell asks for again. A decision may say `ask` where this says
    /// `reject`.
    decision::when_repeated repeated = decision::when_repeated::reject;

    /// Rules that accept or reject without asking.
    approval_rules rules = {};

    /// Grants that hold from the beginning. One for a cell covers nothing here.
    std::vector<grant> grants = {};

    /// The log that records it all; executors may share one.
    std::shared_ptr<audit_log> audit = nullptr;

    /// The name of the session in that log. Empty: its requests name none.
    std::string audit_session = {};
};

} // namespace ipybox::detail
