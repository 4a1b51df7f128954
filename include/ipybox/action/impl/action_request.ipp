#pragma once

#include <ipybox/action/action_request.hpp>
#include <ipybox/async/aside.hpp>
#include <ipybox/core/json_cursor.hpp>

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

    /// The number of a message; 0 where none is given.
    [[nodiscard]] std::uint64_t number(char const* name) {
        auto const found = head_.find(name);
        if (found == head_.end()) return 0;
        if (found->is_number_unsigned()) return found->get<std::uint64_t>();
        complain(name, "an integer that is not negative");
        return 0;
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

    [[nodiscard]] approval_subject::env_difference env() {
        static constexpr auto wanted = "an object of names and strings or nulls";
        approval_subject::env_difference difference;
        auto const found = head_.find("env");
        if (found == head_.end()) return difference;
        if (!found->is_object()) {
            complain("env", wanted);
            return difference;
        }
        for (auto const& [name, value] : found->items()) {
            bool const usable = !name.empty() && name.find('=') == std::string::npos && !holds_nul(name);
            if (usable && value.is_null())
                difference[name] = std::nullopt;
            else if (usable && value.is_string() && !holds_nul(value.get_ref<std::string const&>()))
                difference[name] = value.get<std::string>();
            else
                complain("env", wanted);
        }
        return difference;
    }

    [[nodiscard]] approval_subject::action kind() {
        auto const name = text("kind");
        for (auto const known : {approval_subject::action::shell, approval_subject::action::shell_magic,
                                 approval_subject::action::package}) {
            if (name == to_string(known)) return known;
        }
        complain("kind", "shell, shell_magic or package");
        return approval_subject::action::shell;
    }

    /// The method, and what is wanted by it: lists want nothing.
    [[nodiscard]] mcp::server_query query() {
        mcp::server_query wanted;
        auto const method = mcp::detail::query_method_named(text("method"));
        if (!method) complain("method", "one that asks for resources or prompts");
        wanted.what = method.value_or(wanted.what);
        wanted.name = text("name");
        bool const is_list = !wanted.wants_content();
        if (is_list != wanted.name.empty() || holds_nul(wanted.name))
            complain("name", is_list ? "empty: a list is asked for" : "a URI, or the name of a prompt, without NUL");
        return wanted;
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

/// Whether a member has a name with NUL in it, on any level.
inline bool names_hold_nul(nlohmann::ordered_json const& value) {
    std::vector<nlohmann::ordered_json const*> containers{&value};
    while (!containers.empty()) {
        auto const& container = *containers.back();
        containers.pop_back();
        if (auto const* members = container.get_ptr<nlohmann::ordered_json::object_t const*>())
            for (auto const& [name, unused] : *members)
                if (name.find('\0') != std::string::npos) return true;
        for (auto const& element : container)
            if (element.is_structured()) containers.push_back(&element);
    }
    return false;
}

/// Those who read a name as a C string would see another one than the one that was judged.
inline bool holds_nul_in_names(std::string_view body, tool_arguments const& arguments) {
    bool const escaped = body.find("\\u0000") != std::string_view::npos;
    return escaped && names_hold_nul(*arguments);
}

/// Long ones are built by those who look into them. `read_object` has bounded how deep they are.
inline tool_arguments arguments_of(mcp::raw_json const& sent) {
    if (sent.text().size() >= long_text) return tool_arguments::built_by([sent] { return sent.value(); });
    return std::make_shared<nlohmann::ordered_json const>(sent.value());
}

/// Arguments that were sent, and the same to be looked into.
struct sent_arguments {
    mcp::raw_json sent;
    tool_arguments arguments;
    std::size_t size; ///< bytes that their values take, about
};

/// The arguments of a call. The text of an error says what they have to be. A name that stands twice is refused: the
/// server might take the value that was not looked at.
inline result<mcp::raw_json> read_object(std::string body) {
    auto const wanted = [](std::string what) { return failure(errc::invalid_argument, std::move(what)); };
    switch (count_json(body, largest_arguments).excess) {
    case json_excess::bytes: return wanted("at most " + std::to_string(largest_arguments.bytes >> 20) + " MiB");
    case json_excess::values: return wanted("of at most " + std::to_string(largest_arguments.values) + " values");
    case json_excess::depth: break;
    case json_excess::none: break;
    }
    auto arguments = mcp::raw_json::of_text(std::move(body), mcp::raw_json::duplicate_names::refused);
    if (!arguments) return wanted("a JSON object, and it " + arguments.error().text());
    if (!arguments->is_object()) return wanted("a JSON object");
    return arguments;
}

/// The same as a body of a request.
inline result<sent_arguments> read_arguments(std::string body) {
    constexpr std::size_t of_one = 64; // what a value takes, about
    auto sent = read_object(std::move(body));
    if (!sent) return failure(errc::invalid_argument, "the body has to be " + sent.error().text());
    auto arguments = arguments_of(*sent);
    if (holds_nul_in_names(sent->text(), arguments))
        return failure(errc::invalid_argument, "the body has to be without NUL in the names of its members");
    auto const size = of_one * count_json(sent->text(), largest_arguments).values;
    return sent_arguments{std::move(*sent), std::move(arguments), size};
}

IPYBOX_DECL action_request parse_action(action_frame frame) {
    auto size = frame.head.size() + frame.body.size();
    if (count_json(frame.head, largest_head).excess != json_excess::none)
        return malformed_action{std::nullopt, "its head has more than 256 KiB, or too many values in it"};
    auto parsed = read_json(frame.head).value_or(nullptr);
    if (!parsed.is_object())
        return malformed_action{std::nullopt, "its head is no JSON object, or longer than the frame"};
    action_head head(std::move(parsed));
    auto const id = head.id();
    if (!id) return malformed_action{std::nullopt, "id has to be an integer"};
    auto const op = head.text("op");

    action_request request = malformed_action{id, {}};
    if (op == "call") {
        auto read = read_arguments(std::move(frame.body));
        if (!read) return malformed_action{id, read.error().text()};
        request = tool_call{*id,
                            head.text("cell"),
                            head.number("after"),
                            head.text("server"),
                            head.text("tool"),
                            std::move(read->arguments),
                            std::move(read->sent),
                            size + read->size,
                            head.flag("progress")};
    } else if (op == "ask") {
        server_inquiry wanted{*id, head.text("cell"), head.number("after"), head.text("server"), head.query()};
        wanted.size = size;
        if (wanted.query.what == mcp::server_query::method::get_prompt) {
            auto read = read_arguments(std::move(frame.body));
            if (!read) return malformed_action{id, read.error().text()};
            wanted.query.arguments = std::move(read->sent);
            wanted.arguments = std::move(read->arguments);
            wanted.size += read->size;
        }
        request = std::move(wanted);
    } else if (op == "run") {
        request = program_run{
            *id,        head.text("cell"),  head.number("after"),  head.kind(), head.argv(), head.directory("cwd"),
            head.env(), head.flag("merge"), std::move(frame.body), size};
    } else if (op == "packages") {
        request = package_request{*id, head.text("server"), head.flag("wait"), size};
    } else if (op == "cancel") {
        request = action_cancel{*id};
    } else {
        head.complain("op", "call, ask, run, packages or cancel");
    }
    if (!head.wrong().empty()) return malformed_action{id, head.wrong()};
    return request;
}

} // namespace ipybox::detail
