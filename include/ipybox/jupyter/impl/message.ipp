#pragma once

#include <ipybox/core/random_hex.hpp>
#include <ipybox/jupyter/message.hpp>

#include <type_traits>
#include <utility>

namespace ipybox::jupyter {
namespace detail {

/// The buffer index that `metadata.raw` names for the top-level string `name`, or none.
inline std::size_t raw_index(message const& m, std::string_view name) {
    auto const none = m.buffers.size();
    auto const raw = m.metadata.find("raw");
    if (raw == m.metadata.end() || !raw->is_array()) return none;
    for (auto const& entry : *raw) {
        if (!entry.is_array() || entry.size() != 3 || !entry[0].is_array() || entry[0].size() != 1) continue;
        if (entry[0][0] != name || !entry[1].is_number_unsigned()) continue;
        auto const index = entry[1].get<std::size_t>();
        return index < none ? index : none;
    }
    return none;
}

/// The text of a member; null where there is none, or it is no text.
template <class Json>
auto* text_member(Json& object, std::string_view name) {
    using text = std::conditional_t<std::is_const_v<Json>, nlohmann::json::string_t const, nlohmann::json::string_t>;
    if (!object.is_object()) return static_cast<text*>(nullptr);
    auto const found = object.find(name);
    return found != object.end() ? found->template get_ptr<text*>() : nullptr;
}

} // namespace detail

IPYBOX_DECL std::string message::field(nlohmann::json const& object, std::string_view name) {
    auto const* const text = detail::text_member(object, name);
    return text ? *text : std::string();
}

IPYBOX_DECL std::string message::take_text(std::string_view name) {
    auto const index = detail::raw_index(*this, name);
    if (index < buffers.size()) return std::move(buffers[index]);
    auto* const text = detail::text_member(content, name);
    return text ? std::move(*text) : std::string();
}

IPYBOX_DECL std::string message::new_id() { return random_hex(16); }

} // namespace ipybox::jupyter
