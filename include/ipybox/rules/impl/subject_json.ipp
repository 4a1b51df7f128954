#pragma once

#include <ipybox/core/base64.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/rules/host_pattern.hpp>
#include <ipybox/rules/subject_json.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL nlohmann::ordered_json text_to_json(std::string_view text) {
    if (is_utf8(text)) return text;
    return {{"base64", base64_encode(text)}};
}

inline std::optional<std::string> text_from_json(nlohmann::json const& value) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_object() || value.size() != 1 || !value.contains("base64")) return std::nullopt;
    auto const& encoded = value.begin().value();
    return encoded.is_string() ? base64_decode(encoded.get_ref<std::string const&>()) : std::nullopt;
}

inline constexpr std::string_view base64_key = "base64:";

/// As text_to_json, for the name of a member.
inline std::string key_of(std::string const& name) {
    bool const plain = is_utf8(name) && !name.starts_with(base64_key);
    return plain ? name : std::string(base64_key) + base64_encode(name);
}

inline std::optional<std::string> name_of_key(std::string_view key) {
    if (!key.starts_with(base64_key)) return std::string(key);
    return base64_decode(key.substr(base64_key.size()));
}

IPYBOX_DECL nlohmann::ordered_json subject_to_json(approval_subject const& subject) {
    nlohmann::ordered_json value{{"kind", to_string(subject.kind)}};
    auto const text = [&value](char const* name, std::string const& member) {
        if (!member.empty()) value[name] = text_to_json(member);
    };
    text("server", subject.server);
    text("tool", subject.tool);
    text("uri", subject.uri);
    text("prompt", subject.prompt);
    if (subject.arguments) value["arguments"] = *subject.arguments;
    text("exact_arguments", subject.exact_arguments);
    for (auto const& word : subject.argv) value["argv"].push_back(text_to_json(word));
    text("cwd", subject.cwd.native());
    for (auto const& [name, set] : subject.env)
        value["env"][key_of(name)] = set ? text_to_json(*set) : nlohmann::ordered_json();
    text("replaces", subject.replaces);
    text("input", subject.input);
    text("host", subject.host);
    if (subject.port != 0) value["port"] = subject.port;
    text("protocol", subject.protocol);
    return value;
}

IPYBOX_DECL approval_subject::action kind_from(strict_object& object) {
    auto const kind = action_named(object.text("kind").value_or(""));
    if (!kind)
        object.fail("kind", "one of tool, shell, shell_magic, package, server, network, resource, prompt is wanted");
    return kind.value_or(approval_subject::action::tool);
}

IPYBOX_DECL result<approval_subject> subject_from_json(nlohmann::json const& value, std::string const& where) {
    strict_object reader(value, where);
    approval_subject subject;
    auto const take_text = [&reader](char const* name) {
        auto const* member = reader.find(name);
        auto taken = member ? text_from_json(*member) : std::string();
        if (!taken) reader.fail(name, "text is wanted");
        return std::move(taken).value_or("");
    };
    subject.kind = kind_from(reader);
    subject.server = take_text("server");
    subject.tool = take_text("tool");
    subject.uri = take_text("uri");
    subject.prompt = take_text("prompt");
    subject.cwd = take_text("cwd");
    subject.replaces = take_text("replaces");
    subject.input = take_text("input");
    subject.exact_arguments = take_text("exact_arguments");
    subject.host = take_text("host");
    subject.protocol = take_text("protocol");
    subject.port = port_from(reader).value_or(0);
    if (auto const* arguments = reader.find("arguments"))
        subject.arguments = std::make_shared<nlohmann::ordered_json const>(*arguments);
    if (auto const* argv = reader.array("argv")) {
        for (auto const& word : *argv) {
            auto taken = text_from_json(word);
            if (!taken) reader.fail("argv", "an array of texts is wanted");
            subject.argv.push_back(std::move(taken).value_or(""));
        }
    }
    if (auto const* env = reader.find("env")) {
        if (!env->is_object()) reader.fail("env", "an object of variables is wanted");
        for (auto const& [key, set] : env->items()) {
            auto name = name_of_key(key);
            auto taken = text_from_json(set);
            if (name && (taken || set.is_null()))
                subject.env.insert_or_assign(std::move(*name), std::move(taken));
            else
                reader.fail("env", "the value of a variable is text, or null where it is removed");
        }
    }
    if (auto read = reader.finish(); !read) return failure(read);
    return subject;
}

} // namespace ipybox::detail
