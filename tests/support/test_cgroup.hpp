#pragma once

#include <ipybox/os/cgroup.hpp>
#include <ipybox/os/cgroup_delegation.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "support/files.hpp"

namespace ipybox::test {

/// An empty control group below the root of the hierarchy of version 2, which goes with the test, and what it can do on
/// this machine.
class test_cgroup {
  public:
    test_cgroup() {
        auto const own = os::find_own_cgroup();
        if (!own) return;
        // Root may do that, and others where the root of the hierarchy, which may be that of a namespace, was delegated
        // to them.
        (void)os::give_controllers(own->hierarchy, "+memory +pids");
        auto const directory = own->hierarchy / ("test-" + os::new_cgroup_name());
        std::error_code refused;
        if (std::filesystem::create_directory(directory, refused)) directory_ = directory;
    }
    test_cgroup(test_cgroup const&) = delete;
    test_cgroup& operator=(test_cgroup const&) = delete;
    ~test_cgroup() {
        if (!directory_.empty()) (void)os::remove_cgroup(directory_, std::chrono::seconds(5));
    }

    /// A group in which others can be made; none without version 2, or rights.
    [[nodiscard]] bool is_there() const { return !directory_.empty(); }

    /// Memory and processes can be limited in it.
    [[nodiscard]] bool limits() const {
        auto const controllers = read_file(directory_ / "cgroup.controllers");
        return controllers.find("memory") != std::string::npos && controllers.find("pids") != std::string::npos;
    }

    /// Where it is, or would be.
    [[nodiscard]] std::filesystem::path directory() const {
        return is_there() ? directory_ : std::filesystem::path("/sys/fs/cgroup/ipybox-test");
    }

    /// The groups in it.
    [[nodiscard]] std::vector<std::filesystem::path> groups() const { return groups_in(directory_); }

    [[nodiscard]] static std::vector<std::filesystem::path> groups_in(std::filesystem::path const& directory) {
        std::vector<std::filesystem::path> found;
        std::error_code gone;
        for (auto const& entry : std::filesystem::directory_iterator(directory, gone))
            if (entry.is_directory()) found.push_back(entry.path());
        std::ranges::sort(found);
        return found;
    }

  private:
    std::filesystem::path directory_;
};

} // namespace ipybox::test
