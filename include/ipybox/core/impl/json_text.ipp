#pragma once

#include <ipybox/core/json_text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {

IPYBOX_DECL std::string json_text(nlohmann::json const& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

IPYBOX_DECL std::string json_text(nlohmann::ordered_json const& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

namespace detail {

/// Builds an `ordered_json` while its text is read. The library's own builder looks for each name among all names
/// before it, which takes minutes for an object of 100,000 members.
class ordered_json_builder final : public nlohmann::json_sax<nlohmann::ordered_json> {
    using json = nlohmann::ordered_json;
    using members = json::object_t::Container;

  public:
    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, string_t const& /*text*/) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return false; }
    bool start_object(std::size_t /*size*/) override { return open(json::object()); }
    bool start_array(std::size_t /*size*/) override { return open(json::array()); }
    bool key(string_t& name) override {
        open_.back().name = std::move(name);
        return true;
    }
    bool end_array() override { return close(); }
    bool end_object() override {
        keep_last_of_each_name(members_of(open_.back().value));
        return close();
    }
    bool parse_error(std::size_t /*position*/, std::string const& /*token*/, json::exception const& /*why*/) override {
        return false;
    }

    [[nodiscard]] json take() { return std::move(whole_); }

  private:
    struct level {
        json value;
        std::string name; ///< of the member that comes next
    };

    static members& members_of(json& object) { return object.get_ref<json::object_t&>(); }

    bool add(json value) {
        if (open_.empty())
            whole_ = std::move(value);
        else if (auto& last = open_.back(); last.value.is_array())
            last.value.push_back(std::move(value));
        else
            members_of(last.value).emplace_back(std::move(last.name), std::move(value));
        return true;
    }

    bool open(json empty) {
        open_.push_back({std::move(empty), {}});
        return true;
    }

    bool close() {
        auto closed = std::move(open_.back().value);
        open_.pop_back();
        return add(std::move(closed));
    }

    /// Of equal names the last value counts, in the place of the first, as in the library's own builder.
    static void keep_last_of_each_name(members& all) {
        std::vector<std::size_t> by_name(all.size());
        for (std::size_t i = 0; i < by_name.size(); ++i) by_name[i] = i;
        auto const name = [&all](std::size_t i) -> std::string const& { return all[i].first; };
        std::ranges::sort(by_name, [&name](std::size_t a, std::size_t b) {
            auto const order = name(a).compare(name(b));
            return order != 0 ? order < 0 : a < b;
        });
        std::vector<bool> dropped;
        for (std::size_t i = 1, first = 0; i < by_name.size(); ++i) {
            if (name(by_name[i]) != name(by_name[i - 1])) {
                first = i;
                continue;
            }
            dropped.resize(all.size());
            dropped[by_name[i]] = true;
            all[by_name[first]].second = all[by_name[i]].second;
        }
        if (dropped.empty()) return;
        members kept;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (!dropped[i]) kept.push_back(std::move(all[i]));
        all.swap(kept);
    }

    std::vector<level> open_;
    json whole_ = json(json::value_t::discarded);
};

IPYBOX_DECL nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text, nullptr, false); }

IPYBOX_DECL nlohmann::ordered_json parse_ordered_json(std::string_view text) {
    ordered_json_builder builder;
    if (!nlohmann::ordered_json::sax_parse(text, &builder))
        return nlohmann::ordered_json(nlohmann::json::value_t::discarded);
    return builder.take();
}

} // namespace detail
} // namespace ipybox
