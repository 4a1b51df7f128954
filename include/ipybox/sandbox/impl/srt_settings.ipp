#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/sandbox/srt_settings.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// A document of settings that grows.
class srt_settings_document {
  public:
    srt_settings_document(nlohmann::json document, std::string_view name)
        : document_(std::move(document)), name_(name) {}

    result<void> add(srt_additions const& more) {
        auto* const files = object("filesystem");
        auto* const network = object("network");
        if (!files || !network) return refused("filesystem and network must be objects");
        if (files->value("disabled", nlohmann::json()) == true)
            return refused("filesystem/disabled would switch the rules for files off; remove it");
        for (auto const& [list, paths] :
             {std::pair("allowWrite", &more.writable), std::pair("allowRead", &more.readable),
              std::pair("denyWrite", &more.read_only), std::pair("denyRead", &more.hidden)})
            if (auto changed = change((*files)[list], list, more.left_out, *paths); !changed) return changed;
        if (more.unix_sockets) (*network)["allowAllUnixSockets"] = true;
        if (more.user_namespaces) document_["allowNestedUserNamespaces"] = true;
        return {};
    }

    [[nodiscard]] std::string text() const { return json_text(document_); }

  private:
    nlohmann::json* object(char const* key) {
        auto const found = document_.is_object() ? document_.find(key) : document_.end();
        return found != document_.end() && found->is_object() ? &*found : nullptr;
    }

    result<void> change(nlohmann::json& list, std::string_view key, std::vector<std::string> const& left_out,
                        std::vector<std::filesystem::path> const& paths) const {
        if (list.is_null()) list = nlohmann::json::array();
        if (!list.is_array()) return refused("filesystem/" + std::string(key) + " must be a list of paths");
        auto const is_left_out = [&](nlohmann::json const& entry) {
            auto const& path = entry.is_object() && entry.contains("path") ? entry.at("path") : entry;
            return path.is_string() &&
                   std::ranges::find(left_out, path.get_ref<std::string const&>()) != left_out.end();
        };
        list.erase(std::remove_if(list.begin(), list.end(), is_left_out), list.end());
        for (auto const& path : paths) {
            if (!is_utf8(path.native()))
                return refused("the path " + path.string() + " is not UTF-8, and srt cannot be told of it; rename it");
            list.push_back({{"path", path.string()}, {"literal", true}});
        }
        return {};
    }

    [[nodiscard]] tl::unexpected<error> refused(std::string why) const {
        return failure(errc::invalid_argument, std::string(name_).append(": ").append(why));
    }

    nlohmann::json document_;
    std::string_view name_;
};

IPYBOX_DECL result<std::string> srt_settings(std::string_view document, std::string_view name,
                                             srt_additions const& more) {
    auto read = parse_strictly(document, name);
    if (!read) return failure(read.error());
    srt_settings_document settings(*std::move(read), name);
    if (auto added = settings.add(more); !added) return failure(added);
    return settings.text();
}

} // namespace ipybox::detail
