#pragma once

#include <string>
#include <vector>

namespace ipybox {

/// A package as its metadata name it.
struct installed_package {
    std::string name;
    std::string version;

    friend bool operator==(installed_package const&, installed_package const&) = default;
};

/// What an installation came to.
struct package_result {
    std::vector<installed_package> installed; ///< with dependencies; empty where everything was there already
    std::string output;                       ///< what pip said; of more than 1 MiB the end
};

} // namespace ipybox
