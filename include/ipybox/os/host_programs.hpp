#pragma once

#include <ipybox/os/code_reach.hpp>
#include <ipybox/os/host_environment.hpp>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace ipybox::os {

/**
 * \brief Finds the programs that the host starts by their names: along the PATH of a snapshot of the environment,
 * without the directories in which code could have put them.
 * \details Each search looks anew: a program that the system has replaced meanwhile is found.
 * \par Thread safety Safe.
 */
class host_programs {
  public:
    /// \param reach the places where code can write
    explicit host_programs(host_environment environment, code_reach reach = {});

    /// By the environment of this process, now.
    [[nodiscard]] static std::shared_ptr<host_programs> now(code_reach reach = {});

    [[nodiscard]] host_environment const& environment() const noexcept { return environment_; }

    /// Further code is about to run. \return whether it reaches more
    bool add_reach(code_reach const& more);

    [[nodiscard]] code_reach reach() const;

    /// Whether code can change a file or directory, or make it.
    [[nodiscard]] bool can_change(std::filesystem::path const& path) const;

    /// PATH, as it is safe to search.
    [[nodiscard]] std::string search_path() const { return safe_path(environment_.search_path()); }

    /// The directories of a PATH in which code cannot put a program. Relative ones are left out.
    [[nodiscard]] std::string safe_path(std::string_view path) const;

    /// The program of a name; itself, absolute, if it has a slash, wherever that is. Empty if there is none.
    [[nodiscard]] std::filesystem::path find(std::string const& name) const {
        return find(name, environment_.search_path());
    }

    /// The same on another PATH.
    [[nodiscard]] std::filesystem::path find(std::string const& name, std::string_view path) const;

    /// A program that starts sandboxes: one that lies nowhere near code, where there is one, else as `find`.
    [[nodiscard]] std::filesystem::path find_tool(std::string const& name) const;

    /// For the text of an error: that a program of this name is not used, and why; empty where there is none.
    [[nodiscard]] std::string passed_over(std::string const& name) const {
        return passed_over(name, environment_.search_path());
    }

    /// The same on another PATH.
    [[nodiscard]] std::string passed_over(std::string const& name, std::string_view path) const;

  private:
    host_environment const environment_;
    mutable std::mutex mutex_;
    code_reach reach_;
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/host_programs.ipp>
#endif
