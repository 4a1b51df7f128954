#pragma once

#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ipybox::os {

IPYBOX_DECL result<std::string> read_file(std::filesystem::path const& file, std::string const& name,
                                          std::size_t limit) {
    unique_fd const descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!descriptor) return failure(ipybox::detail::system_failure(name, errno));
    return read_all(descriptor.get(), name, limit);
}

IPYBOX_DECL result<std::string> read_regular_file(std::filesystem::path const& file, std::string const& name,
                                                  std::size_t limit) {
    unique_fd const descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct ::stat status{};
    if (!descriptor || ::fstat(descriptor.get(), &status) != 0)
        return failure(ipybox::detail::system_failure(name, errno));
    if (!S_ISREG(status.st_mode)) return failure(errc::invalid_argument, name + ": it is not a regular file");
    return read_all(descriptor.get(), name, limit);
}

IPYBOX_DECL result<std::string> read_all(int descriptor, std::string const& name, std::size_t limit) {
    std::string text;
    std::array<char, 64 * 1024> part;
    for (;;) {
        auto const count = ::read(descriptor, part.data(), part.size());
        if (count == 0) return text;
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failure(ipybox::detail::system_failure(name, errno));
        text.append(part.data(), static_cast<std::size_t>(count));
        if (text.size() > limit)
            return failure(errc::invalid_argument, name + ": it has more than " + std::to_string(limit) + " bytes");
    }
}

} // namespace ipybox::os
