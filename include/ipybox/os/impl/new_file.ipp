#pragma once

#include <ipybox/core/random_hex.hpp>
#include <ipybox/os/directory.hpp>
#include <ipybox/os/new_file.hpp>
#include <ipybox/os/write_all.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace ipybox::os {

IPYBOX_DECL result<new_file> make_file(directory const& in, std::string_view stem, std::string_view suffix) {
    for (;;) {
        auto const name = std::string(stem).append(random_hex(4)).append(suffix);
        auto const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        unique_fd file(::openat(in.descriptor(), name.c_str(), flags, 0600));
        if (file) return new_file{in.path() / name, std::move(file)};
        if (errno != EEXIST)
            return failure(ipybox::detail::system_failure("making the file " + (in.path() / name).string(), errno));
    }
}

IPYBOX_DECL result<void> write_all(new_file const& file, std::string_view bytes) {
    if (int const broken = write_all(file.descriptor.get(), bytes); broken != 0)
        return failure(ipybox::detail::system_failure("writing to " + file.path.string(), broken));
    return {};
}

} // namespace ipybox::os
