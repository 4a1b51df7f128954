#pragma once

#include <string>
#include <vector>

namespace ipybox::detail {

/// An installed package, as its metadata name it: `package_layer::package`.
struct installed_package {
    /// The name of the package.
    std::string name;
    /// The version that was installed.
    std::string version;

    /// Whether all members are equal.
    friend bool operator==(installed_package const&, installed_package const&) = default;
};

/// The result of an installation: `package_layer::installation`.
struct installation {
    /// The packages that were installed, dependencies among them; empty if everything was there already.
    std::vector<installed_package> installed;
    /// The output of pip; of more than 1 MiB the end.
    std::string output;
};

} // namespace ipybox::detail
