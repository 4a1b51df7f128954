#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/execution/json_value.hpp>

#include <nlohmann/json.hpp>

#include <mutex>
#include <optional>
#include <utility>

namespace ipybox {

struct json_value::state {
    explicit state(std::string t) : text(std::move(t)) {}

    std::string const text;
    std::mutex mutex;
    std::optional<nlohmann::ordered_json> value;
};

IPYBOX_DECL json_value::json_value(std::string text) : state_(std::make_shared<state>(std::move(text))) {}

IPYBOX_DECL std::string const& json_value::text() const noexcept {
    static auto const& none = detail::never_destroyed<std::string>();
    return state_ ? state_->text : none;
}

IPYBOX_DECL nlohmann::ordered_json const* json_value::get() const {
    if (!state_) return nullptr;
    std::scoped_lock const lock(state_->mutex);
    if (!state_->value) state_->value = detail::parse_ordered_json(state_->text);
    return &*state_->value;
}

} // namespace ipybox
