#pragma once

#include <ipybox/os/remove_tree.hpp>
#include <ipybox/os/temporary_directory.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

namespace ipybox::os {

IPYBOX_DECL result<temporary_directory> temporary_directory::make(std::string_view name) {
    auto path = std::string("/tmp/").append(name).append("-XXXXXX");
    if (::mkdtemp(path.data()) == nullptr)
        return failure(ipybox::detail::system_failure("making a directory below /tmp", errno));
    return temporary_directory(std::move(path));
}

IPYBOX_DECL temporary_directory::temporary_directory(temporary_directory&& other) noexcept
    : owner_(other.owner_), path_(std::exchange(other.path_, {})) {}

IPYBOX_DECL temporary_directory::~temporary_directory() {
    if (!owner_.is_this() || path_.empty()) return;
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    // A process that is about to end may still make and remove files there.
    while (!remove_tree(path_) && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

} // namespace ipybox::os
