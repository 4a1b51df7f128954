#pragma once

#include <ipybox/os/lies_in.hpp>
#include <ipybox/sandbox/bubblewrap_mounts.hpp>
#include <ipybox/sandbox/landlock_grants.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox::detail {

/// The directories of programs, libraries and their settings. None of it is the user's.
inline constexpr std::array<char const*, 12> directories_of_the_system{
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/proc"};

class landlock_grants_maker {
  public:
    landlock_grants_maker(file_rules const& rules, launch_spec const& spec, std::filesystem::path const& home)
        : rules_(rules), spec_(spec), home_(home) {}

    result<landlock_grants> make() {
        if (auto added = add_writable(); !added) return failure(added);
        if (auto added = add_readable(); !added) return failure(added);
        if (auto possible = check_reading(); !possible) return failure(possible);
        if (auto possible = check_writing(); !possible) return failure(possible);
        return std::move(grants_);
    }

  private:
    using path = std::filesystem::path;
    using paths = std::vector<path>;

    static bool is_among(path const& wanted, paths const& all) { return std::ranges::find(all, wanted) != all.end(); }

    /// Those that exist, without links.
    static paths existing(paths const& all) {
        paths found;
        for (auto const& each : all) {
            std::error_code missing;
            if (auto real = std::filesystem::canonical(each, missing); !missing) found.push_back(std::move(real));
        }
        return found;
    }

    result<void> add_writable() {
        bubblewrap_mounts const closed(private_directories());
        auto wanted = rules_.writable;
        wanted.insert(wanted.end(), spec_.writable.begin(), spec_.writable.end());
        for (auto const& each : wanted) {
            auto real = closed.openable(each, "writable path");
            if (!real) return failure(real);
            if (!is_among(*real, rules_.unreadable)) grants_.writable.push_back(*std::move(real));
        }
        return {};
    }

    result<void> add_readable() {
        for (auto& each : existing({directories_of_the_system.begin(), directories_of_the_system.end()}))
            if (!lies_in_one(each, rules_.unreadable)) grants_.readable.push_back(std::move(each));
        grants_.readable.push_back(spec_.working_dir);
        grants_.readable.insert(grants_.readable.end(), rules_.readable.begin(), rules_.readable.end());
        auto needed = existing(spec_.readable);
        std::erase(needed, "/"); // of an interpreter in /bin, whose packages lie in directories of the system
        if (auto usable = check_needed(needed); !usable) return usable;
        grants_.readable.insert(grants_.readable.end(), needed.begin(), needed.end());
        auto const program = existing({spec_.argv.front()});
        grants_.readable.insert(grants_.readable.end(), program.begin(), program.end());
        return {};
    }

    /// Code must not be able to change what a launch reads, and a launch must not open the user's whole home.
    result<void> check_needed(paths const& needed) const {
        auto const homes = existing({home_});
        for (auto const& each : needed) {
            if (auto const* folder = folder_of(each, grants_.writable))
                return refuse(each, "is needed to start and must not be changed", *folder, "writable");
            bool const holds_home = std::ranges::any_of(homes, [&](auto const& h) { return os::lies_in(h, each); });
            if (holds_home && !folder_of(each, grants_.readable))
                return failure(errc::invalid_argument,
                               "the interpreter's directory " + each.string() +
                                   " holds the home directory, which would be readable; name the interpreter where it "
                                   "is installed, not a link in the home directory");
        }
        return {};
    }

    result<void> check_reading() const {
        auto granted = grants_.readable;
        granted.insert(granted.end(), grants_.writable.begin(), grants_.writable.end());
        for (auto const* closed : {&rules_.unreadable, &spec_.hidden})
            for (auto const& each : existing(*closed))
                if (auto const* folder = folder_of(each, granted))
                    return refuse(each, "must not be read", *folder, "readable");
        return {};
    }

    result<void> check_writing() const {
        paths denied;
        for (std::size_t i = 0; i < rules_.denied_writes; ++i) denied.push_back(rules_.guarded[i].path);
        for (auto& each : existing(spec_.read_only))
            // A writable directory itself is told of by unprotected_files().
            if (!is_among(each, grants_.writable)) denied.push_back(std::move(each));
        for (auto const& each : denied)
            if (auto const* folder = folder_of(each, grants_.writable))
                return refuse(each, "must not be changed", *folder, "writable");
        return {};
    }

    /// The first of some directories that a path lies in.
    static path const* folder_of(path const& each, paths const& folders) {
        auto const found = std::ranges::find_if(folders, [&](auto const& f) { return os::lies_in(each, f); });
        return found == folders.end() ? nullptr : &*found;
    }

    static result<void> refuse(path const& each, std::string_view why, path const& folder, std::string_view as) {
        std::string text = each.string();
        text.append(" ").append(why).append(", and lies in ").append(folder.string()).append(", which is ").append(as);
        text += ": Landlock opens directories as a whole and cannot close a part of one; move it elsewhere, choose "
                "another working directory, or choose bubblewrap";
        return failure(errc::invalid_argument, std::move(text));
    }

    file_rules const& rules_;
    launch_spec const& spec_;
    std::filesystem::path const& home_;
    landlock_grants grants_;
};

IPYBOX_DECL result<landlock_grants> landlock_grants_of(file_rules const& rules, launch_spec const& spec,
                                                       std::filesystem::path const& home) {
    return landlock_grants_maker(rules, spec, home).make();
}

} // namespace ipybox::detail
