#pragma once

#include <ipybox/kernel/cache_directory.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace ipybox::detail {

inline constexpr std::string_view mark_of_caches = "Signature: 8a477f597d28d172789f06886806bc55\n"
                                                   "# Caches of code that runs in ipybox. Nothing else may use them.\n";

IPYBOX_DECL result<void> make_cache_directory(std::filesystem::path const& directory,
                                              std::filesystem::path const& working_dir) {
    if (directory.empty() || os::lies_in(directory, working_dir)) return {};
    auto const refused = [&](std::string_view why) {
        return failure(errc::invalid_argument,
                       "the directory of caches " + directory.string() + std::string(why) + "; name a new directory");
    };
    std::error_code failed;
    if (std::filesystem::is_symlink(directory, failed)) return refused(" is a link");
    std::filesystem::create_directories(directory, failed);
    if (failed) return failure(system_failure("the directory of caches " + directory.string(), failed.value()));
    auto const mark = directory / "CACHEDIR.TAG";
    if (!std::filesystem::is_empty(directory, failed) && !failed) {
        constexpr std::size_t longest = 4096;
        auto const found = os::read_regular_file(mark, mark.string(), longest);
        if (found && *found == mark_of_caches) return {};
        return refused(" has files that are no caches of ipybox (it has no CACHEDIR.TAG of it), and code would be able "
                       "to change them");
    }
    if (failed) return failure(system_failure("the directory of caches " + directory.string(), failed.value()));
    os::unique_fd const file(::open(mark.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file || ::write(file.get(), mark_of_caches.data(), mark_of_caches.size()) < 0)
        return failure(system_failure("the mark of a directory of caches, " + mark.string(), errno));
    return {};
}

} // namespace ipybox::detail
