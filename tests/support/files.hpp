#pragma once

#include <ipybox/os/read_file.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ipybox::test {

/// The bytes of a file. Empty where it cannot be read, as that of a process which ends meanwhile.
inline std::string read_file(std::filesystem::path const& file) {
    return os::read_file(file, file.string(), os::no_limit).value_or("");
}

/// A file of one JSON value a line.
inline std::vector<nlohmann::json> json_lines(std::filesystem::path const& file) {
    std::vector<nlohmann::json> all;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
}

} // namespace ipybox::test
