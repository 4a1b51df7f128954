#pragma once

#include <ipybox/action/action_request.hpp>

#include <string_view>
#include <utility>

namespace ipybox::detail {

/// Reads the members of a request's head. The first one that is not what it should be is remembered.
class action_head {
  public:
    explicit action_head(nlohmann::json head) : head_(std::move(head)) {}

    [[nodiscard]] std::string text(char const* name) {
        auto const found = head_.find(name);
        if (found != head_.end() && found->is_string()) return found->get<std::string>();
        complain(name, "a string");
        return {};
    }

    [[nodiscard]] bool flag(char const* name) {
        auto const found = head_.find(name);
        if (found == head_.end()) return false;
        if (found->is_boolean()) return found->get<bool>();
        complain(name, "true or false");
        return false;
    }

    [[nodiscard]] std::optional<action_id> id() const {
        auto const found = head_.find("id");
        if (found == head_.end() || !found->is_number_integer()) return std::nullopt;
        return found->get<action_id>();
    }

    [[nodiscard]] std::vector<std::string> argv() {
        std::vector<std::string> words;
        auto const found = head_.find("argv");
        bool good = found != head_.end() && found->is_array() && !found->empty();
        for (std::size_t i = 0; good && i < found->size(); ++i) {
            auto const& word = (*found)[i];
            good = word.is_string() && !holds_nul(word.get_ref<std::string const&>());
            if (good) words.push_back(word.get<std::string>());
        }
        if (!good) complain("argv", "a list of strings without NUL, and not empty");
        return words;
    }

    [[nodiscard]] environment_difference env() {
        environment_difference difference;
        auto const found = head_.find("env");
        if (found == head_.end()) return difference;
        bool good = found->is_object();
        for (auto const& [name, value] : good ? found->items() : nlohmann::json::object().items()) {
            bool const usable = !name.empty() && name.find('=') == std::string::npos && !holds_nul(name);
            if (usable && value.is_null())
                difference[name] = std::nullopt;
            else if (usable && value.is_string() && !holds_nul(value.get_ref<std::string const&>()))
                difference[name] = value.get<std::string>();
            else
                good = false;
        }
        if (!good) complain("env", "an object of names and strings or nulls");
        return difference;
    }

    [[nodiscard]] approval_kind kind() {
        auto const name = text("kind");
        for (auto const known : {approval_kind::shell, approval_kind::shell_magic, approval_kind::package}) {
            if (name == name_of(known)) return known;
        }
        complain("kind", "shell, shell_magic or package");
        return approval_kind::shell;
    }

    [[nodiscard]] std::filesystem::path directory(char const* name) {
        std::filesystem::path path = text(name);
        if (!path.is_absolute() || holds_nul(path.native())) complain(name, "an absolute path");
        return path;
    }

    void complain(char const* name, char const* wanted) {
        if (wrong_.empty()) wrong_ = std::string(name) + " has to be " + wanted;
    }

    [[nodiscard]] std::string const& wrong() const noexcept { return wrong_; }

  private:
    [[nodiscard]] static bool holds_nul(std::string_view text) noexcept {
        return text.find('\0') != std::string_view::npos;
    }

    nlohmann::json head_;
    std::string wrong_;
};

IPYBOX_DECL action_request parse_action(action_frame frame) {
    auto parsed = nlohmann::json::parse(frame.head, nullptr, false);
    if (!parsed.is_object()) return malformed_action{std::nullopt, "its head is no JSON object"};
    action_head head(std::move(parsed));
    auto const id = head.id();
    if (!id) return malformed_action{std::nullopt, "id has to be an integer"};
    auto const op = head.text("op");

    action_request request;
    if (op == "call") {
        auto arguments = nlohmann::json::parse(frame.body, nullptr, false);
        if (!arguments.is_object()) head.complain("the body", "a JSON object");
        request = tool_call{*id, head.text("cell"), head.text("server"), head.text("tool"),
                            std::make_shared<nlohmann::json const>(std::move(arguments))};
    } else if (op == "run") {
        request = program_run{*id,        head.text("cell"),  head.kind(),          head.argv(), head.directory("cwd"),
                              head.env(), head.flag("merge"), std::move(frame.body)};
    } else if (op == "cancel") {
        request = action_cancel{*id};
    } else {
        head.complain("op", "call, run or cancel");
    }
    if (!head.wrong().empty()) return malformed_action{id, head.wrong()};
    return request;
}

} // namespace ipybox::detail
