#pragma once

#include <ipybox/action/action_request.hpp>
#include <ipybox/approval/decision.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/subject_commands.hpp>

#include <optional>
#include <utility>

/** \file
 * The actions that requests are asked about, and what is done in their place once they are approved.
 */

namespace ipybox::detail {

/// The action that is asked about.
inline approval_subject subject_of(tool_call const& wanted) {
    approval_subject subject;
    subject.kind = approval_subject::action::tool;
    subject.server = wanted.server;
    subject.tool = wanted.tool;
    subject.arguments = wanted.arguments;
    if (wanted.sent.rounds_numbers()) subject.exact_arguments = wanted.sent.text();
    return subject;
}

inline approval_subject subject_of(server_inquiry const& wanted) {
    approval_subject subject;
    subject.server = wanted.server;
    switch (wanted.query.what) {
    case mcp::server_query::method::list_resources:
    case mcp::server_query::method::list_resource_templates:
    case mcp::server_query::method::read_resource:
        subject.kind = approval_subject::action::resource;
        subject.uri = wanted.query.name;
        break;
    case mcp::server_query::method::list_prompts:
    case mcp::server_query::method::get_prompt:
        subject.kind = approval_subject::action::prompt;
        subject.prompt = wanted.query.name;
        subject.arguments = wanted.arguments;
        if (auto const& sent = wanted.query.arguments; sent && sent->rounds_numbers())
            subject.exact_arguments = sent->text();
        break;
    }
    return subject;
}

inline approval_subject subject_of(program_run const& wanted) {
    approval_subject subject;
    subject.kind = wanted.kind;
    subject.argv = wanted.argv;
    subject.cwd = wanted.cwd;
    subject.env = wanted.env;
    subject.input = wanted.input;
    return subject;
}

/// The arguments that were approved: those that were asked about, unless they were edited.
inline result<mcp::raw_json> sent_of(decision const& made, mcp::raw_json const& asked) {
    auto const* const edited = made.edited_arguments();
    if (!edited) return asked;
    auto sent = mcp::raw_json::of(*edited);
    if (!sent) return failure(errc::invalid_argument, "an edited argument " + sent.error().text());
    return sent;
}

/// The program in place of one that was accepted for its commands; none where they were not understood.
inline std::optional<program_run> as_accepted(program_run const& wanted, approval_subject const& subject) {
    auto judged = as_judged(subject);
    if (!judged) return std::nullopt;
    auto run = wanted;
    run.argv = std::move(judged->argv);
    run.input = std::move(judged->input);
    return run;
}

} // namespace ipybox::detail
