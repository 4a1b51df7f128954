#pragma once

#include <ipybox/core/ansi.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/jupyter/display_content.hpp>
#include <ipybox/jupyter/exception_content.hpp>
#include <ipybox/session/execute_machine.hpp>
#include <ipybox/session/value_request.hpp>

#include <charconv>
#include <system_error>

namespace ipybox::detail {

inline bool flag(nlohmann::json const& content, char const* name) {
    auto const found = content.find(name);
    return found != content.end() && found->is_boolean() && found->get<bool>();
}

/// Longer ones would take memory that no bound counts: such a display cannot be updated.
inline constexpr std::size_t longest_display_id = 1024;

/// The exit code of code that leaves. Kernels that are not ours say it in the text of the exception only.
inline std::optional<int> exit_code_in(nlohmann::json const& content, execution_over const& over) {
    auto const told = content.find("exit_code");
    if (told != content.end() && told->is_number_integer()) return told->get<int>() & 0xFF;
    if (over.leaving) return 0;
    if (!over.exception || over.exception->ename != "SystemExit") return std::nullopt;
    auto const& text = over.exception->evalue;
    if (text.empty() || text == "None") return 0;
    int code = 0;
    auto const read = std::from_chars(text.data(), text.data() + text.size(), code);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? code & 0xFF : 1;
}

/// The content of a reply's payloads: text for the pager, and that the kernel is about to end.
inline execution_over read_payloads(nlohmann::json const& content) {
    execution_over over;
    auto const payloads = content.find("payload");
    if (payloads == content.end() || !payloads->is_array()) return over;
    for (auto const& payload : *payloads) {
        auto const source = jupyter::message::field(payload, "source");
        if (source == "ask_exit") over.leaving = !flag(payload, "keepkernel");
        if (source != "page") continue;
        auto const data = payload.find("data");
        if (data != payload.end()) over.pager_text += strip_ansi(jupyter::message::field(*data, "text/plain"));
    }
    return over;
}

IPYBOX_DECL bool is_output(jupyter::message const& m) noexcept {
    return m.type == "stream" || m.type == "clear_output" || m.type == "execute_result" || m.type == "display_data" ||
           m.type == "update_display_data";
}

IPYBOX_DECL execute_step output_in(jupyter::message& m) {
    if (m.type == "stream") {
        auto const stream = jupyter::message::field(m.content, "name") == "stderr" ? output_chunk::stream_name::stderr_
                                                                                   : output_chunk::stream_name::stdout_;
        return output_chunk{stream, m.take_text("text")};
    }
    if (m.type == "clear_output") return clear_wanted{flag(m.content, "wait")};

    display shown;
    if (m.type == "execute_result")
        shown.kind = display::message_type::execute_result;
    else if (m.type == "update_display_data")
        shown.kind = display::message_type::update_display_data;
    else if (m.type != "display_data")
        return nothing_new();
    if (auto const meta = m.content.find("metadata"); meta != m.content.end() && meta->is_object())
        shown.metadata = m.metadata_text.empty() ? json_text(*meta) : std::move(m.metadata_text);
    if (auto const transient = m.content.find("transient"); transient != m.content.end())
        shown.id = jupyter::message::field(*transient, "display_id");
    if (shown.id.size() > longest_display_id) shown.id.clear();
    shown.data = jupyter::take_bundle(m);
    return shown;
}

IPYBOX_DECL execute_step execute_machine::step(jupyter::message m) {
    if (m.type == "execute_reply") return m.parent_id == request_id_ ? on_reply(m) : nothing_new();
    if (m.type == "status") return m.parent_id == request_id_ ? on_status(m) : nothing_new();
    if (m.type == "error") {
        if (m.parent_id == request_id_) error_ = jupyter::exception_in(m.content);
        return nothing_new();
    }
    if (m.type == "input_request")
        return input_wanted{jupyter::message::field(m.content, "prompt"), flag(m.content, "password"),
                            std::move(m.parent_header)};
    return output_in(m);
}

IPYBOX_DECL execute_step execute_machine::on_status(jupyter::message const& m) {
    auto const state = jupyter::message::field(m.content, "execution_state");
    if (state == "interrupted") return code_told();
    if (state == "ending") return code_ended();
    if (state == "idle") idle_ = true;
    return finish();
}

IPYBOX_DECL execute_step execute_machine::on_reply(jupyter::message& m) {
    auto over = read_payloads(m.content);
    auto const status = jupyter::message::field(m.content, "status");
    if (status != "ok") {
        over.exception = jupyter::exception_in(m.content);
        if (over.exception->ename.empty()) over.exception->ename = status.empty() ? "Error" : status;
    }
    over.exit_code = exit_code_in(m.content, over);
    over.value = take_value(m.content);
    reply_ = std::move(over);
    return finish();
}

IPYBOX_DECL execute_step execute_machine::finish() {
    if (!reply_ || (rule_ == completion_rule::reply_and_idle && !idle_)) return nothing_new();
    // Kernels differ in what of an exception they put into the reply; the error message has all of it.
    if (reply_->exception && reply_->exception->traceback.empty() && error_ && !error_->ename.empty())
        reply_->exception = std::exchange(error_, std::nullopt);
    auto over = std::move(*reply_);
    reply_.reset();
    return over;
}

} // namespace ipybox::detail
