#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/** \file
 * What every fuzz target has: inputs to begin with, which `fuzz_NAME --seed DIR` writes, and a check.
 */

namespace ipybox::fuzz {

/// An input that a corpus begins with.
struct seed {
    std::string name;
    std::string bytes;
};

/// Every target has its own.
std::vector<seed> seeds();

/// Seeds whose names are their numbers.
inline std::vector<seed> numbered(std::vector<std::string> inputs) {
    std::vector<seed> list;
    for (auto& input : inputs) list.push_back({std::to_string(list.size()), std::move(input)});
    return list;
}

/// What does not hold ends the run.
inline void require(bool good) {
    if (!good) std::abort();
}

} // namespace ipybox::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    if (*argc != 3 || std::string_view((*argv)[1]) != "--seed") return 0;
    std::filesystem::path const directory = (*argv)[2];
    std::filesystem::create_directories(directory);
    for (auto const& [name, bytes] : ipybox::fuzz::seeds()) std::ofstream(directory / name, std::ios::binary) << bytes;
    std::exit(0);
}
