#pragma once

#include <ipybox/session/execution.hpp>
#include <ipybox/session/execution_end.hpp>
#include <ipybox/session/value_request.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::string lingering_text(execution_end const& end) {
    if (end.over && end.over->leaving) return "the kernel did not end by itself after exit(), and was killed";
    return "the kernel did not read what was sent to it within 5 s after its reply, and was killed";
}

/// How code that was to end has ended.
inline std::string stopping_text(execution_end const& end, execution const& e) {
    std::string text = "the execution was cancelled";
    if (end.stopped == errc::timed_out)
        text = "the code did not end within " + std::to_string(std::max<std::int64_t>(0, e.options.timeout->count())) +
               " ms";
    if (!end.killed) return text;
    text += "; it did not end when interrupted, so its kernel was ";
    return text +
           (end.not_replaced ? "killed; there is no fresh one: " + *end.not_replaced : "replaced by a fresh one");
}

inline void put_value(execution_over const& over, execution_result& output) {
    if (over.exception) return;
    output.value_missing = over.value ? over.value->missing : no_answer;
    if (over.value) output.value = over.value->value;
}

inline error value_failure(execution_over const& over, std::string const& missing) {
    if (!over.value) return {errc::ipykernel_unsupported, missing};
    if (auto& raised = over.value->exception) return {errc::python_error, *raised};
    return {errc::invalid_argument, missing};
}

/// Why an execution has failed, the first of several reasons; none if it has succeeded.
inline std::optional<error> failure_of(execution_end& end, execution const& e, execution_result const& output) {
    if (e.unwanted && e.unwanted->at_once) return error(e.unwanted->reason, "");
    if (end.stopped) return error(*end.stopped, stopping_text(end, e));
    if (end.death && !end.over) return end.death;
    if (end.unsent) return end.unsent;
    if (end.over && end.over->exception) return error(errc::python_error, std::move(*end.over->exception));
    if (end.over && e.of_value && !output.value) return value_failure(*end.over, output.value_missing);
    if (end.lingers && e.finishes)
        return error(errc::timed_out, "the kernel did not end by itself within " +
                                          std::to_string(end.end_grace.count()) +
                                          " ms, and was killed: its threads or exit functions still ran");
    return end.output_failure;
}

IPYBOX_DECL result<execution_result> outcome_of(execution_end end, execution const& e, execution_result output) {
    if (end.over) {
        output.exit_code = end.over->exit_code;
        if (e.of_value || e.options.want_value) put_value(*end.over, output);
    }
    // A reset, which replaces the kernel without waiting for the end of its code.
    if (e.unwanted && e.unwanted->at_once && e.unwanted->reason == errc::cancelled) output.kernel_restarted = true;
    auto why = failure_of(end, e, output);
    if (!why) return output;
    // How the code came to its end, where it was: of a timeout and a cancellation too.
    if (end.stopped && end.over && end.over->exception) why->with_exception(std::move(*end.over->exception));
    return failure(why->with_output(std::make_shared<execution_result const>(std::move(output))));
}

} // namespace ipybox::detail
