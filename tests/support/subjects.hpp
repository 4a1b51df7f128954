#pragma once

#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>

namespace ipybox::test {

inline approval_subject tool_subject(std::string server, std::string tool,
                                     nlohmann::ordered_json arguments = nlohmann::ordered_json::object(),
                                     std::string cell = "c1") {
    return {.server = std::move(server),
            .tool = std::move(tool),
            .arguments = std::make_shared<nlohmann::ordered_json const>(std::move(arguments)),
            .cell_id = std::move(cell)};
}

inline approval_subject shell_subject(std::string line, std::string cwd = "/work") {
    return {.kind = approval_subject::action::shell,
            .argv = {"/bin/sh", "-c", std::move(line)},
            .cwd = std::move(cwd),
            .cell_id = "c1"};
}

/// The registration of a server, with an entry of `mcpServers`.
inline approval_subject server_subject(std::string name, nlohmann::ordered_json parameters) {
    return {.kind = approval_subject::action::server,
            .server = std::move(name),
            .arguments = std::make_shared<nlohmann::ordered_json const>(std::move(parameters))};
}

} // namespace ipybox::test
