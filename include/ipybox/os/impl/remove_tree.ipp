#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/directory_stream.hpp>
#include <ipybox/os/remove_tree.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::os {
namespace detail {

/// Opens a directory for reading, whatever its mode is; not through a link.
inline unique_fd open_up(int parent, char const* name) {
    unique_fd const found(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!found) return {};
    auto const itself = "/proc/self/fd/" + std::to_string(found.get());
    ::chmod(itself.c_str(), S_IRWXU);
    return unique_fd(::open(itself.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// The names in an open directory.
inline std::vector<std::string> names_in(unique_fd const& directory) {
    directory_stream entries(unique_fd(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    if (!entries) return {};
    std::vector<std::string> names;
    while (auto const* entry = entries.next()) names.emplace_back(entry->d_name);
    return names;
}

/// A directory that is being emptied. Directories below are moved to the top before it is their turn.
class emptying {
  public:
    explicit emptying(unique_fd top) : top_(std::move(top)), waiting_(names_in(top_)) {}

    void run() {
        while (!waiting_.empty()) {
            auto const name = std::move(waiting_.back());
            waiting_.pop_back();
            if (::unlinkat(top_.get(), name.c_str(), 0) != 0) remove_directory(name);
        }
    }

  private:
    void remove_directory(std::string const& name) {
        if (::unlinkat(top_.get(), name.c_str(), AT_REMOVEDIR) == 0) return;
        {
            auto const opened = open_up(top_.get(), name.c_str());
            if (!opened) return;
            for (auto const& below : names_in(opened))
                if (::unlinkat(opened.get(), below.c_str(), 0) != 0) move_to_top(opened, below);
        }
        ::unlinkat(top_.get(), name.c_str(), AT_REMOVEDIR);
    }

    void move_to_top(unique_fd const& parent, std::string const& name) {
        if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0) return;
        (void)open_up(parent.get(), name.c_str()); // or its owner could not move it
        for (int tries = 0; tries < most_tries; ++tries) {
            auto moved = "ipybox-removes-" + std::to_string(++number_);
            if (::renameat(parent.get(), name.c_str(), top_.get(), moved.c_str()) == 0)
                return waiting_.push_back(std::move(moved));
            if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return;
        }
    }

    static constexpr int most_tries = 1000; // of names that code may have taken

    unique_fd top_;
    std::vector<std::string> waiting_; ///< names in it
    std::size_t number_ = 0;
};

} // namespace detail

IPYBOX_DECL bool remove_tree(std::filesystem::path const& path) noexcept {
    try {
        if (auto top = detail::open_up(AT_FDCWD, path.c_str())) detail::emptying(std::move(top)).run();
        return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
    } catch (std::exception const&) { // no memory
        return false;
    }
}

} // namespace ipybox::os
