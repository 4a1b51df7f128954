#pragma once

#include <ipybox/core/base64.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/jupyter/mime_bundle.hpp>

#include <nlohmann/json.hpp>

#include <atomic>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL void mime_bundle::add(entry e) {
    if (!entries_) entries_ = std::make_shared<std::vector<entry>>();
    if (entries_.use_count() > 1) entries_ = std::make_shared<std::vector<entry>>(*entries_);
    std::atomic_thread_fence(std::memory_order_acquire); // another thread's copy may just have gone
    entries_->push_back(std::move(e));
}

IPYBOX_DECL std::vector<mime_bundle::entry> const& mime_bundle::entries() const noexcept {
    static auto const& none = never_destroyed<std::vector<entry>>();
    return entries_ ? *entries_ : none;
}

IPYBOX_DECL std::string const* mime_bundle::find(std::string_view type) const noexcept {
    for (auto const& e : entries())
        if (e.type == type) return &e.value;
    return nullptr;
}

IPYBOX_DECL std::size_t mime_bundle::size() const noexcept {
    std::size_t bytes = 0;
    for (auto const& e : entries()) bytes += e.type.size() + e.value.size();
    return bytes;
}

IPYBOX_DECL nlohmann::json mime_bundle::to_json() const {
    auto object = nlohmann::json::object();
    for (auto const& e : entries()) {
        switch (e.kind) {
        case encoding::text: object[e.type] = e.value; break;
        case encoding::bytes: object[e.type] = base64_encode(e.value); break;
        case encoding::json:
            auto value = ipybox::detail::parse_json(e.value);
            object[e.type] = value.is_discarded() ? nlohmann::json(e.value) : std::move(value);
            break;
        }
    }
    return object;
}

} // namespace ipybox::detail
