#pragma once

#include <ipybox/os/no_file_size_signal.hpp>
#include <ipybox/os/write_all.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace ipybox::os {

IPYBOX_DECL int write_all(int descriptor, std::string_view& rest) noexcept {
    no_file_size_signal const quiet;
    while (!rest.empty()) {
        auto const count = ::write(descriptor, rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
}

} // namespace ipybox::os
