#pragma once

#include <ipybox/core/config.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace ipybox::os {

/**
 * \brief The variables, the current directory and the home directory of this process, as they were at one moment.
 * \details An application may change them while threads of the library run, and reading them then is a race. So they
 * are read once, in the thread that makes an executor, and handed down.
 */
class host_environment {
  public:
    using environment = std::map<std::string, std::string>;

    /// Without variables and directories.
    host_environment() = default;
    /// These variables. \param directory the current directory, absolute; empty where it does not exist any more
    host_environment(environment variables, std::filesystem::path directory);

    /// Those of this process, now.
    [[nodiscard]] static host_environment now();

    [[nodiscard]] environment const& variables() const noexcept { return variables_; }

    /// The value of a variable; none where it is not set.
    [[nodiscard]] std::optional<std::string> find(std::string const& name) const;

    /// The same; empty where it is not set.
    [[nodiscard]] std::string value(std::string const& name) const { return find(name).value_or(std::string()); }

    /// PATH, or the directories of the system where it is not set.
    [[nodiscard]] std::string search_path() const;

    /// Empty where it does not exist any more.
    [[nodiscard]] std::filesystem::path const& directory() const noexcept { return directory_; }

    /// HOME, or the user's home directory by the system's list of users; empty where neither is absolute.
    [[nodiscard]] std::filesystem::path const& home() const noexcept { return home_; }

    /// XDG_STATE_HOME, or `~/.local/state`; empty where neither is absolute. XDG Base Directory Specification 0.8.
    [[nodiscard]] std::filesystem::path state_directory() const;

    /// A path that is relative to the current directory, without `.`, `..` and a `/` at its end; empty where that
    /// directory is needed and gone.
    [[nodiscard]] std::filesystem::path absolute(std::filesystem::path const& path) const;

  private:
    environment variables_;
    std::filesystem::path directory_;
    std::filesystem::path home_;
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/host_environment.ipp>
#endif
