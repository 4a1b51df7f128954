#pragma once

#include <string>
#include <vector>

namespace ipybox {

/// A package as its metadata name it.
struct installed_package {
    /// The name of the package.
    std::string name;
    /// The version that was installed.
    std::string version;

    /// Whether all members are equal.
    friend bool operator==(installed_package const&, installed_package const&) = default;
};

/// The result of an installation.
struct package_result {
    std::vector<installed_package> installed; ///< with dependencies; empty where everything was there already
    std::string output;                       ///< what pip said; of more than 1 MiB the end
};

} // namespace ipybox
