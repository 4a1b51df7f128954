#pragma once

#include <ipybox/session/execution_output.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL void execution_output::write(output_chunk chunk) {
    if (chunk.text.empty()) return;
    clear_if_due();
    chunk.replaces_line = recorder_.write(chunk.text);
    if (chunks_) put(std::move(chunk));
}

IPYBOX_DECL void execution_output::show(display shown) {
    clear_if_due();
    recorder_.show(shown);
    put(std::move(shown));
}

IPYBOX_DECL void execution_output::clear(bool wait) {
    recorder_.clear(true);
    if (!wait) clear_if_due();
}

IPYBOX_DECL void execution_output::clear_if_due() {
    if (recorder_.clear_if_due()) put(output_cleared());
}

IPYBOX_DECL void execution_output::put(execution_event event) {
    if (!events_) return;
    bool const ending = life_.is_interrupting();
    if (ending && events_->full()) return;
    events_->push(std::move(event));
    if (!ending && events_->full()) on_full_();
}

} // namespace ipybox::detail
