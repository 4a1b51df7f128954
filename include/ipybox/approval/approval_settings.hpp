#pragma once

#include <ipybox/approval/approval_rules.hpp>
#include <ipybox/approval/decision.hpp>
#include <ipybox/approval/grant.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ipybox {

class audit_log;

/// What decides about actions besides the approval policy. Members are given in this order.
struct approval_settings {
    /// False: tool calls are accepted without asking, unless a rule denies them. Says nothing about other kinds.
    bool approve_tool_calls = true;

    /// False: shell commands and magics are accepted without asking, unless a rule denies them. Says nothing about other kinds.
    bool approve_shell_cmds = true;

    /// How long each request may wait for its decision; then it is rejected. None: until its cell ends.
    std::optional<std::chrono::milliseconds> approval_timeout = std::nullopt;

    /// How many actions one cell may ask for, of all kinds, also those that are accepted without asking. None: no limit.
    std::optional<std::uint64_t> calls_per_cell = std::nullopt;

    /// What becomes of a rejected action that its cell asks for again. A decision may say `ask` where this says `reject`.
    when_repeated repeated = when_repeated::reject;

    /// What is accepted or rejected without asking.
    approval_rules rules = {};

    /// What is accepted without asking from the beginning. One for a cell covers nothing here.
    std::vector<grant> grants = {};

    /// Where it is all recorded; executors may share one.
    std::shared_ptr<audit_log> audit = nullptr;
};

} // namespace ipybox
