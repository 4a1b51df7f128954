#pragma once

#include <ipybox/tools/host_call.hpp>
#include <ipybox/tools/tool_context.hpp>

#include <cmath>
#include <utility>

namespace ipybox {

IPYBOX_DECL tool_context::tool_context(std::shared_ptr<detail::host_call> call) noexcept : call_(std::move(call)) {}

IPYBOX_DECL std::stop_token tool_context::stop_token() const noexcept {
    return call_ ? call_->stop_token() : std::stop_token();
}

IPYBOX_DECL void tool_context::progress(double done, std::optional<double> total,
                                        std::optional<std::string> message) const {
    if (!call_) return;               // moved from
    if (!std::isfinite(done)) return; // which JSON does not have
    if (total && !std::isfinite(*total)) total.reset();
    call_->report({done, total, std::move(message)});
}

} // namespace ipybox
