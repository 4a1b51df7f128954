#pragma once

#include <ipybox/os/temporary_directory.hpp>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace ipybox::os {

IPYBOX_DECL result<temporary_directory> temporary_directory::make(std::string_view name) {
    auto path = std::string("/tmp/").append(name).append("-XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) return failure(system_failure("making a directory below /tmp", errno));
    return temporary_directory(std::move(path));
}

IPYBOX_DECL temporary_directory::temporary_directory(temporary_directory&& other) noexcept
    : owner_(other.owner_), path_(std::exchange(other.path_, {})) {}

IPYBOX_DECL temporary_directory::~temporary_directory() {
    std::error_code ignored;
    if (owner_.is_this() && !path_.empty()) std::filesystem::remove_all(path_, ignored);
}

} // namespace ipybox::os
