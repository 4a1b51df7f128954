#pragma once

#include <ipybox/core/add_once.hpp>
#include <ipybox/os/cgroup_delegation.hpp>
#include <ipybox/os/is_link_to_directory.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/sandbox/deciding_names.hpp>
#include <ipybox/sandbox/file_rules.hpp>
#include <ipybox/sandbox/gathered_paths.hpp>
#include <ipybox/sandbox/impl/real_path.hpp>
#include <ipybox/sandbox/path_pattern.hpp>
#include <ipybox/sandbox/path_search.hpp>
#include <ipybox/sandbox/repository_files.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL bool lies_in_one(std::filesystem::path const& path, std::vector<std::filesystem::path> const& folders) {
    return std::ranges::any_of(folders, [&](auto const& folder) { return os::lies_in(path, folder); });
}

/// Turns a configuration into rules: first what can be written, then what patterns find, then everything else.
class file_rules_maker {
  public:
    file_rules_maker(sandbox_config::file_access const& config, int search_depth, file_scene const& scene)
        : config_(config), scene_(scene), search_depth_(static_cast<std::size_t>(search_depth)) {}

    result<file_rules> make() {
        if (auto usable = check_paths(); !usable) return failure(usable);
        for (auto const& path : config_.allow_write) add_writable(path);
        if (auto usable = check_writable(); !usable) return failure(usable);
        if (auto added = add_patterns(); !added) return failure(added);
        auto searched = find_paths(patterns_, scene_.most_entries);
        if (!searched) return failure(searched);
        if (!searched->not_read.empty()) notice(notice_of_unread(searched->not_read));
        auto const found = gathered(searched->found);

        for (auto const& path : config_.allow_read) add_readable(path);
        for (auto const& path : config_.deny_read) add_unreadable(path);
        add_allowed(searched->found);
        add_found(found, purpose::deny_read);
        for (auto const& each : found.whole)
            if (each.closed == path_to_close::right::read) add_unreadable_at(each.path);
        if (auto usable = check_unreadable(); !usable) return failure(usable);

        for (auto const& path : config_.deny_write) guard_entry(path);
        add_found(found, purpose::deny_write);
        close_guarded_roots();
        rules_.denied_writes = rules_.guarded.size();
        guard_deciding_names();
        for (auto const& path : scene_.closed) guard_missing(path);
        for (auto const& secret : missing_secrets_) guard_secret(secret);
        add_found(found, purpose::decides);
        add_found(found, purpose::repository);
        for (auto const& each : found.whole)
            if (each.closed == path_to_close::right::write) guard({each.path, a_directory});
        return std::move(rules_);
    }

  private:
    enum class purpose { deny_read, allow_read, deny_write, decides, repository };

    /// A path of the configuration: absolute, not yet looked for.
    struct spelled_path {
        std::filesystem::path path;
        bool is_directory = false; ///< it ends with a slash
    };

    void notice(std::string text) { add_once(rules_.notices, std::move(text)); }

    /// The directory that a spelling begins at, and the rest of it; none for a home that is not known.
    std::optional<std::pair<std::filesystem::path, std::string_view>> based(std::string_view text) {
        bool const of_home = text == "~" || text.starts_with("~/");
        if (!of_home) return std::pair(scene_.working_dir, text);
        text.remove_prefix(std::min<std::size_t>(text.size(), 2));
        if (!scene_.home.empty()) return std::pair(scene_.home, text);
        notice("there is no home directory (HOME is not set): paths that begin with ~ mean nothing");
        return std::nullopt;
    }

    std::optional<spelled_path> spelled(std::string_view text) {
        auto const from = based(text);
        if (!from) return std::nullopt;
        auto const& [base, rest] = *from;
        auto path = (base / without_contents(rest)).lexically_normal();
        bool const is_directory = !path.has_filename() && path.has_relative_path();
        if (is_directory) path = path.parent_path();
        return spelled_path{std::move(path), is_directory};
    }

    static bool is_pattern(sandbox_config::path_entry const& entry) {
        return !entry.literal && path_pattern::has_wildcards(without_contents(entry.path));
    }

    bool is_writable(std::filesystem::path const& real) const { return lies_in_one(real, rules_.writable); }

    /// The system ends a path at its first NUL: another file would be meant.
    result<void> check_paths() const {
        for (auto const* list : {&config_.deny_read, &config_.allow_read, &config_.allow_write, &config_.deny_write})
            for (auto const& [path, literal] : *list)
                if (path.empty() || path.find('\0') != path.npos)
                    return failure(errc::invalid_argument,
                                   "the sandbox's configuration has a path that is empty or has a NUL in it");
        return {};
    }

    // --- what can be written ---------------------------------------------------------------------------------------------

    static bool is_device(std::filesystem::path const& path) {
        auto const& text = path.native();
        return text.starts_with("/dev/") && !text.starts_with("/dev/shm/");
    }

    void add_writable(sandbox_config::path_entry const& entry) {
        auto const path = spelled(entry.path);
        if (!path || is_device(path->path)) return; // those that there are can be written to
        auto const real = without_links(path->path);
        if (!real) {
            notice("allowWrite " + entry.path +
                   (is_pattern(entry) ? " has no effect: only a path without wildcards can be made writable"
                                      : " has no effect: it does not exist"));
        } else if (may_be_led_away(path->path, *real)) {
            notice_link("allowWrite " + entry.path, *real);
        } else {
            add_once(rules_.writable, *real);
        }
    }

    /// Code that can write to control groups moves itself to one without limits.
    [[nodiscard]] result<void> check_writable() const {
        for (auto const& path : rules_.writable)
            if (os::is_in_cgroups(path))
                return failure(errc::invalid_argument,
                               "the allowWrite path " + path.string() +
                                   " belongs to control groups, by which code would leave its limits; leave it out");
        return {};
    }

    /// Whether a path leads elsewhere by a link that code may have made: one in a directory that it can write to.
    [[nodiscard]] bool may_be_led_away(std::filesystem::path const& path, std::filesystem::path const& real) const {
        return real != path && (os::lies_in(path, scene_.working_dir) || is_writable(path));
    }

    void notice_link(std::string const& entry, std::filesystem::path const& real) {
        notice(entry +
               " has no effect: a link in a directory that code can write to, which it may have made, leads to " +
               real.string() + "; name that, if it is meant");
    }

    /// A writable directory within one that must not be written to is none.
    void close_guarded_roots() {
        std::erase_if(rules_.writable, [&](auto const& root) {
            return std::ranges::any_of(rules_.guarded, [&](auto const& g) { return os::lies_in(root, g.path); });
        });
        std::erase_if(rules_.guarded, [&](auto const& g) { return !is_writable(g.path); });
    }

    // --- patterns --------------------------------------------------------------------------------------------------------

    result<void> add_patterns() {
        for (auto const& [list, why] :
             {std::pair(&config_.deny_read, purpose::deny_read), std::pair(&config_.allow_read, purpose::allow_read),
              std::pair(&config_.deny_write, purpose::deny_write)}) {
            for (auto const& entry : *list) {
                auto const from = based(entry.path);
                if (!is_pattern(entry) || !from) continue;
                auto pattern = path_pattern::parse(from->first, from->second);
                if (!pattern) return failure(pattern);
                add_pattern(*std::move(pattern), why);
            }
        }
        for (auto const& root : rules_.writable)
            if (!scene_.is_shared || root != scene_.working_dir) add_search_of(root);
        return {};
    }

    void add_search_of(std::filesystem::path const& root) {
        pattern_reach const searched{search_depth_, false};
        auto const search = [&](std::string_view name, purpose why) {
            auto pattern = path_pattern::parse(root, "**/" + std::string(name), searched);
            if (pattern) add_pattern(*std::move(pattern), why); // none for "/", which is refused as writable
        };
        for (auto const& deciding : deciding_names) search(deciding.name, purpose::decides);
        for (auto const& deciding : deciding_names_in_use) search(deciding.name, purpose::decides);
        search(".git", purpose::repository);
    }

    void add_pattern(path_pattern pattern, purpose why) {
        patterns_.push_back(std::move(pattern));
        purposes_.push_back(why);
    }

    void add_found(gathered_paths const& found, purpose why) {
        for (auto const& each : found.single) {
            if (purposes_[each.number] != why) continue;
            if (why == purpose::deny_read && !os::is_link_to_directory(each.path)) add_unreadable_at(each.path);
            if (why == purpose::deny_write || why == purpose::decides) guard({each.path});
            if (why == purpose::repository) guard_repository(each.path);
        }
    }

    // --- how many there can be -------------------------------------------------------------------------------------------

    gathered_paths gathered(std::vector<found_path> const& found) {
        std::vector<path_to_close> all;
        for (auto const& [path, pattern] : found) {
            auto const why = purposes_[pattern];
            if (why == purpose::allow_read) continue;
            auto const right = why == purpose::deny_read ? path_to_close::right::read : path_to_close::right::write;
            // That of the working directory has bounds of its own.
            bool const is_other = why == purpose::repository && path != scene_.working_dir / ".git";
            auto const mounts = is_other ? files_of(path).size() : 1;
            all.push_back({path, patterns_[pattern].root(), right, mounts, pattern});
        }
        auto kept = rules_.writable;
        kept.push_back(scene_.working_dir);
        auto all_gathered = gather_paths(std::move(all), kept, scene_.most_mounts,
                                         scene_.is_shared ? whole_directories::never : whole_directories::closed);
        for (auto& text : notices_of(all_gathered)) notice(std::move(text));
        return all_gathered;
    }

    // --- what cannot be read ---------------------------------------------------------------------------------------------

    void add_readable(sandbox_config::path_entry const& entry) {
        auto const path = spelled(entry.path);
        if (path && !add_readable_at(path->path) && !is_pattern(entry))
            notice("allowRead " + entry.path + " has no effect: it does not exist");
    }

    void add_allowed(std::vector<found_path> const& found) {
        for (auto const& [path, pattern] : found)
            if (purposes_[pattern] == purpose::allow_read && rules_.readable.size() < most_allowed_again)
                add_readable_at(path);
    }

    bool add_readable_at(std::filesystem::path const& path) {
        auto real = without_links(path);
        if (!real) return false;
        if (may_be_led_away(path, *real))
            notice_link("allowRead " + path.string(), *real);
        else
            add_once(rules_.readable, *std::move(real));
        return true;
    }

    void add_unreadable(sandbox_config::path_entry const& entry) {
        auto const path = spelled(entry.path);
        if (!path || add_unreadable_at(path->path) || is_pattern(entry)) return;
        missing_secrets_.push_back({path->path, path->is_directory ? a_directory : a_file});
    }

    bool add_unreadable_at(std::filesystem::path const& path) {
        auto real = without_links(path);
        if (!real) return false;
        // A placeholder goes with the sandbox that made it, unless this one holds it too: it is as good as missing.
        auto const* const placeholder = placeholder_above(*real);
        if (placeholder) add_once(missing_secrets_, *placeholder);
        bool const is_allowed = std::ranges::find(rules_.readable, *real) != rules_.readable.end();
        if (placeholder || is_allowed || std::ranges::find(rules_.unreadable, *real) != rules_.unreadable.end())
            return true;
        std::error_code ignored;
        if (std::filesystem::is_regular_file(*real, ignored) && std::filesystem::hard_link_count(*real, ignored) > 1)
            notice(real->string() + " has further names (hard links), under which it can be read");
        rules_.unreadable.push_back(*std::move(real));
        return true;
    }

    result<void> check_unreadable() const {
        for (auto const& path : rules_.unreadable) {
            if (path != scene_.working_dir && path.has_relative_path()) continue;
            return failure(errc::invalid_argument,
                           "denyRead closes " + path.string() +
                               (path.has_relative_path() ? ", the working directory itself" : "") +
                               "; name what lies in it");
        }
        return {};
    }

    // --- what cannot be written ------------------------------------------------------------------------------------------

    void guard_entry(sandbox_config::path_entry const& entry) {
        auto path = spelled(entry.path);
        if (!path) return;
        bool const is_missing = !without_links(path->path);
        if (is_missing && is_pattern(entry)) return;
        guard({std::move(path->path), path->is_directory ? a_directory : a_file});
    }

    void guard_deciding_names() {
        if (!scene_.is_shared) guard_names_of_project();
        // That of a worktree, which is opened by its own path.
        for (auto const& root : rules_.writable)
            if (is_repository(root)) guard_files_of(root);
        auto const home = scene_.home.empty() ? std::nullopt : without_links(scene_.home);
        if (!home || !is_writable(*home)) return;
        for (auto const& deciding : deciding_names) guard({*home / deciding.name, deciding.kind});
        for (auto const& deciding : deciding_names_of_a_home) guard({*home / deciding.name, deciding.kind});
    }

    void guard_names_of_project() {
        for (auto const& deciding : deciding_names) guard({scene_.working_dir / deciding.name, deciding.kind});
        guard_repository(scene_.working_dir / ".git");
    }

    /// Guards a path that must not be read, and that is not there yet.
    void guard_secret(guarded_path const& secret) {
        auto const before = rules_.guarded.size();
        guard(secret);
        if (rules_.guarded.size() > before)
            rules_.unreadable_later.push_back(rules_.guarded.back().path);
        else
            add_once(rules_.absent, secret.path);
    }

    /// Guards a path that a launch wants closed, and that is not there yet.
    void guard_missing(std::filesystem::path const& given) {
        if (!given.is_absolute()) return;
        auto path = given.lexically_normal();
        bool const is_directory = !path.has_filename();
        if (is_directory) path = path.parent_path();
        if (placeholder_above(path) == nullptr && without_links(path)) return;
        guard({std::move(path), is_directory ? a_directory : a_file});
    }

    /// If there is none, code could make one, whose settings start programs at the next `git status`.
    void guard_repository(std::filesystem::path const& git) {
        if (placeholder_above(git)) return guard({git, a_directory});
        std::error_code ignored;
        auto const status = std::filesystem::symlink_status(git, ignored);
        if (!std::filesystem::is_directory(status))
            return guard({git, std::filesystem::exists(status) ? a_file : a_directory});
        guard_files_of(git);
    }

    [[nodiscard]] std::vector<guarded_path> files_of(std::filesystem::path const& git) const {
        return deciding_files_of(git, config_.allow_git_config ? git_settings::open : git_settings::guarded);
    }

    void guard_files_of(std::filesystem::path const& git) {
        for (auto& file : files_of(git)) guard(std::move(file));
    }

    void guard(guarded_path wanted) {
        if (auto const* placeholder = placeholder_above(wanted.path)) {
            wanted = *placeholder;
        } else if (auto real = without_links(wanted.path)) {
            if (is_link(wanted.path) && is_writable(wanted.path.parent_path()))
                notice(wanted.path.string() +
                       " is a link in a writable directory: code can put something else in its place");
            wanted.path = *std::move(real);
        } else if (!stop_at_missing(wanted)) {
            return;
        }
        if (is_writable(wanted.path) && !is_hidden(wanted.path)) add_once(rules_.guarded, std::move(wanted));
    }

    guarded_path const* placeholder_above(std::filesystem::path const& path) const {
        auto const found =
            std::ranges::find_if(scene_.placeholders, [&](auto const& p) { return os::lies_in(path, p.path); });
        return found == scene_.placeholders.end() ? nullptr : &*found;
    }

    /// The first name on the way that does not exist. False where that is a link that leads nowhere.
    bool stop_at_missing(guarded_path& wanted) {
        while (!without_links(wanted.path.parent_path())) wanted = {wanted.path.parent_path(), a_directory};
        if (is_link(wanted.path)) {
            notice(wanted.path.string() + " is a link that leads nowhere: code can put something else in its place");
            return false;
        }
        wanted.path = *without_links(wanted.path.parent_path()) / wanted.path.filename();
        return true;
    }

    /// It cannot be reached at all.
    bool is_hidden(std::filesystem::path const& path) const {
        return lies_in_one(path, rules_.unreadable) && !lies_in_one(path, rules_.readable);
    }

    sandbox_config::file_access const& config_;
    file_scene const& scene_;
    std::size_t const search_depth_;
    file_rules rules_;
    std::vector<path_pattern> patterns_;
    std::vector<purpose> purposes_; ///< of the patterns
    std::vector<guarded_path> missing_secrets_;
};

IPYBOX_DECL result<file_rules> file_rules_of(sandbox_config::file_access const& config, int search_depth,
                                             file_scene const& scene) {
    return file_rules_maker(config, search_depth, scene).make();
}

} // namespace ipybox::detail
