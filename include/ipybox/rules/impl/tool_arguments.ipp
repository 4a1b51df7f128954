#pragma once

#include <ipybox/rules/tool_arguments.hpp>

#include <nlohmann/json.hpp>

#include <mutex>
#include <optional>
#include <utility>

namespace ipybox::detail {

struct tool_arguments::later {
    std::mutex mutex;
    std::function<nlohmann::ordered_json()> build;
    std::optional<nlohmann::ordered_json> value;
};

IPYBOX_DECL tool_arguments tool_arguments::built_by(std::function<nlohmann::ordered_json()> build) {
    tool_arguments made;
    made.later_ = std::make_shared<later>();
    made.later_->build = std::move(build);
    return made;
}

IPYBOX_DECL nlohmann::ordered_json const* tool_arguments::get() const {
    if (!later_) return value_.get();
    std::scoped_lock const lock(later_->mutex);
    if (!later_->value) {
        later_->value = later_->build();
        later_->build = nullptr; // with what it was built from
    }
    return &*later_->value;
}

} // namespace ipybox::detail
