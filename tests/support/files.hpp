#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ipybox::test {

inline std::string read_file(std::filesystem::path const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A file of one JSON value a line.
inline std::vector<nlohmann::json> json_lines(std::filesystem::path const& file) {
    std::vector<nlohmann::json> all;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
}

} // namespace ipybox::test
