#pragma once

#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/random_hex.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/os/write_all.hpp>
#include <ipybox/sandbox/git_exclude.hpp>
#include <ipybox/sandbox/placeholder_journal.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace ipybox::detail {

/// A placeholder, and which file it is: nothing else that has its name by then is removed.
struct placeholder {
    guarded_path what;
    dev_t device = 0;
    ino_t inode = 0; ///< 0: about to be made
};

/// The letters of kinds in a record.
constexpr std::string_view kind_letters = "fd.";

inline std::string to_record(placeholder const& p) {
    std::string const kind{' ', kind_letters[static_cast<std::size_t>(p.what.made_as)], ' '};
    return std::to_string(p.device) + ' ' + std::to_string(p.inode) + kind + p.what.path.native() + '\0';
}

/// One that was not written to its end was followed by nothing.
inline std::vector<placeholder> placeholders_of(std::string_view text) {
    std::vector<placeholder> all;
    for (auto end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
        std::istringstream in{std::string(text.substr(0, end))};
        text.remove_prefix(end + 1);
        placeholder p;
        char letter = 0;
        std::string path;
        if (!(in >> p.device >> p.inode >> letter) || in.get() != ' ' || !std::getline(in, path, '\0')) continue;
        auto const kind = kind_letters.find(letter);
        if (kind == std::string_view::npos) continue;
        p.what = {path, static_cast<guarded_path::kind>(kind)};
        std::erase_if(all, [&](auto const& intended) { return intended.what.path == p.what.path; });
        all.push_back(std::move(p));
    }
    return all;
}

/// None where nothing is there.
inline std::optional<struct ::stat> status_of(std::filesystem::path const& path) {
    struct ::stat status{};
    if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
    return status;
}

/// The text of a placeholder that is a file.
inline std::string_view text_of(guarded_path::kind made_as) {
    return made_as == guarded_path::kind::dot_file ? ".\n" : "";
}

/// Whether a file is still as it was made; its host may have been killed before it was written to.
inline bool is_untouched(placeholder const& p) {
    constexpr std::size_t longest = 16;
    auto const text = os::read_regular_file(p.what.path, "a placeholder", longest);
    return text && (text->empty() || *text == text_of(p.what.made_as));
}

/// Returns whether it was there.
inline bool remove_placeholder(placeholder const& p) {
    if (p.what.made_as == guarded_path::kind::file) end_passing_over(p.what.path);
    auto const status = status_of(p.what.path);
    if (!status) return false;
    bool const is_it = p.inode == 0 || (status->st_dev == p.device && status->st_ino == p.inode);
    if (!is_it) return false;
    if (p.what.made_as == guarded_path::kind::directory)
        return S_ISDIR(status->st_mode) && ::rmdir(p.what.path.c_str()) == 0; // fails where it is not empty
    return S_ISREG(status->st_mode) && is_untouched(p) && ::unlink(p.what.path.c_str()) == 0;
}

/// What was made later may lie in what was made before.
inline std::vector<placeholder> last_first(std::vector<placeholder> const& all) { return {all.rbegin(), all.rend()}; }

/// Opens a file that is about to be locked: a fork would hold the lock as long as it lives.
inline os::unique_fd open_for_lock(std::filesystem::path const& file, int flags, ::mode_t mode = 0600) {
    return os::make_unforked([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); });
}

/// Has the directory to itself while it lives.
class journal_lock {
  public:
    static result<journal_lock> take(std::filesystem::path const& directory, std::chrono::milliseconds bound) {
        auto const file = directory / "lock";
        // Code that could read it could hold the lock; and a lease that code has on it must not make this wait.
        auto fd = open_for_lock(file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0200);
        if (!fd || ::fchmod(fd.get(), 0200) != 0) return failure(system_failure("opening " + file.string(), errno));
        auto const until = std::chrono::steady_clock::now() + bound;
        // There is no lock with a time limit; others hold it for a moment.
        while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK && errno != EINTR)
                return failure(system_failure("locking " + file.string(), errno));
            if (std::chrono::steady_clock::now() > until)
                return failure(errc::io_error, file.string() + " is locked by another process for more than " +
                                                   std::to_string(bound.count()) + " ms; end that one");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return journal_lock(std::move(fd));
    }

  private:
    explicit journal_lock(os::unique_fd fd) : fd_(std::move(fd)) {}

    os::unique_fd fd_;
};

/**
 * \brief Locks on the directories that placeholders lie in. Sandboxes share them, also those that know another state
 * directory: who removes a placeholder has its directory alone, since a directory that is removed is gone for all who
 * have mounted it.
 */
class placeholder_places {
  public:
    /// A few of them: others could use up the descriptors. Waits a moment for one who removes a placeholder.
    void use(std::filesystem::path directory) {
        if (locks_.size() == most || locks_.contains(directory)) return;
        while (!status_of(directory) && directory.has_relative_path()) directory = directory.parent_path();
        if (locks_.contains(directory)) return;
        auto fd = open_for_lock(directory, O_RDONLY | O_DIRECTORY);
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        while (fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (fd) locks_.emplace(std::move(directory), std::move(fd));
    }

    /// Whether the directory of a placeholder is in use by this sandbox alone; from now on no other can use it.
    [[nodiscard]] bool have_alone(std::filesystem::path const& placeholder) {
        auto const directory = placeholder.parent_path();
        auto known = locks_.find(directory);
        if (known == locks_.end())
            known = locks_.emplace(directory, open_for_lock(directory, O_RDONLY | O_DIRECTORY)).first;
        // Where there are no locks, as in some file systems, no other sandbox has one.
        return !known->second || ::flock(known->second.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    }

  private:
    static constexpr std::size_t most = 4;

    std::map<std::filesystem::path, os::unique_fd> locks_;
};

constexpr std::string_view journal_suffix = ".held";

/// Bytes of a journal: no more are read of one, and so no more are written to one.
constexpr std::size_t longest_journal = std::size_t(16) << 20;

/// Calls `visit` with what each journal lists and whether its host lives. The lock is held.
template <class Visit>
void each_journal(std::filesystem::path const& directory, Visit visit) {
    std::error_code ignored;
    for (auto const& entry : std::filesystem::directory_iterator(directory, ignored)) {
        if (!entry.path().native().ends_with(journal_suffix)) continue;
        auto const fd = open_for_lock(entry.path(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (!fd) continue;
        bool const lives = ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
        auto const text = os::read_all(fd.get(), entry.path().string(), longest_journal);
        if (text) visit(entry.path(), placeholders_of(*text), lives);
    }
}

/// Those of all journals but one.
inline std::vector<placeholder> living_placeholders(std::filesystem::path const& directory,
                                                    std::filesystem::path const& own = {}) {
    std::vector<placeholder> all;
    each_journal(directory, [&](auto const& file, std::vector<placeholder> listed, bool lives) {
        if (lives && file != own) std::move(listed.begin(), listed.end(), std::back_inserter(all));
    });
    return all;
}

/// Whether one of them is this file, by its name or, where a directory is mounted twice, by another one.
inline bool holds(std::vector<placeholder> const& all, placeholder const& file) {
    return std::ranges::any_of(all, [&](auto const& p) {
        return p.what.path == file.what.path || (p.inode != 0 && p.inode == file.inode && p.device == file.device);
    });
}

/// Removes placeholders of a sandbox that has ended. \return whether none has to stay: others that use its directory
/// may have taken it for the user's
inline bool remove_placeholders(std::vector<placeholder> const& ended, std::vector<placeholder> const& living,
                                placeholder_places& places, std::vector<std::filesystem::path>* removed = nullptr) {
    bool all = true;
    for (auto const& p : last_first(ended)) {
        if (holds(living, p)) continue;
        if (status_of(p.what.path) && !places.have_alone(p.what.path))
            all = false;
        else if (remove_placeholder(p) && removed)
            removed->push_back(p.what.path);
    }
    return all;
}

/// Removes what ended hosts have left behind, and their journals.
inline void remove_leftovers(std::filesystem::path const& directory, std::vector<placeholder> const& living,
                             placeholder_places& places, std::vector<std::filesystem::path>* removed = nullptr) {
    each_journal(directory, [&](auto const& file, std::vector<placeholder> const& listed, bool lives) {
        if (!lives && remove_placeholders(listed, living, places, removed)) (void)::unlink(file.c_str());
    });
}

/// The placeholders of one sandbox, and the journal that lists them.
class held_placeholders {
  public:
    held_placeholders(std::filesystem::path directory, std::filesystem::path file, os::unique_fd journal)
        : directory_(std::move(directory)), file_(std::move(file)), journal_(std::move(journal)) {}
    held_placeholders(held_placeholders const&) = delete;
    held_placeholders& operator=(held_placeholders const&) = delete;

    ~held_placeholders() {
        if (!owner_.is_this()) return;
        auto const lock = journal_lock::take(directory_, std::chrono::seconds(1));
        if (!lock) return; // the next start removes them
        auto const others = living_placeholders(directory_, file_);
        if (remove_placeholders(held_, others, places_)) (void)::unlink(file_.c_str());
        remove_leftovers(directory_, others, places_);
    }

    /// A path that the sandbox closes, its own placeholder or not.
    void use(guarded_path const& path) { places_.use(path.path.parent_path()); }

    result<void> add(placeholder p) {
        auto const record = to_record(p);
        written_ += record.size();
        if (written_ > longest_journal)
            return failure(errc::invalid_argument, "placeholders of the sandbox take more than 16 MiB in " +
                                                       file_.string() + ": protect fewer or shorter paths");
        std::string_view rest = record;
        if (int const broken = os::write_all(journal_.get(), rest); broken != 0)
            return failure(system_failure("writing " + file_.string(), broken));
        if (p.inode != 0) held_.push_back(std::move(p));
        return {};
    }

    /// Listed before it is made, so that it is found in any case.
    result<void> make(guarded_path const& wanted) {
        if (auto listed = add({wanted}); !listed) return listed;
        if (wanted.made_as == guarded_path::kind::file) pass_over_placeholder(wanted.path);
        auto const& path = wanted.path;
        bool made = false;
        if (wanted.made_as == guarded_path::kind::directory) {
            made = ::mkdir(path.c_str(), 0755) == 0;
        } else {
            os::unique_fd const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
            auto text = text_of(wanted.made_as);
            made = file && os::write_all(file.get(), text) == 0;
        }
        if (int const why = errno; !made) {
            if (wanted.made_as == guarded_path::kind::file) end_passing_over(path);
            return not_made(path, why);
        }
        auto const status = status_of(path);
        if (!status) return {};
        return add({wanted, status->st_dev, status->st_ino});
    }

  private:
    /// If the user may not make it, code cannot either.
    static result<void> not_made(std::filesystem::path const& path, int why) {
        if (why == EACCES || why == EPERM || why == EROFS || why == EEXIST || why == ENOENT) return {};
        return failure(system_failure("making the placeholder " + path.string(), why));
    }

    owning_process owner_;
    std::filesystem::path directory_;
    std::filesystem::path file_;
    os::unique_fd journal_;
    std::size_t written_ = 0; ///< to the journal
    std::vector<placeholder> held_;
    placeholder_places places_;
};

IPYBOX_DECL result<placeholder_journal> placeholder_journal::open_in(std::filesystem::path const& directory) {
    std::error_code ec;
    std::filesystem::create_directories(directory, ec);
    if (ec) return failure(system_failure("making the directory " + directory.string(), ec.value()));
    if (::access(directory.c_str(), W_OK) != 0)
        return failure(system_failure("writing to the directory " + directory.string(), errno));
    return placeholder_journal(directory);
}

/// A directory below /tmp that is the user's alone.
inline result<std::filesystem::path> private_state() {
    std::filesystem::path path = "/tmp/ipybox-state-" + std::to_string(::geteuid());
    (void)::mkdir(path.c_str(), 0700);
    auto const status = status_of(path);
    if (status && S_ISDIR(status->st_mode) && status->st_uid == ::geteuid() && (status->st_mode & 022) == 0)
        return path;
    return failure(errc::io_error,
                   path.string() + " belongs to another user; set XDG_STATE_HOME to a directory of yours");
}

IPYBOX_DECL result<placeholder_journal> placeholder_journal::open(os::host_environment const& host) {
    if (auto const state = host.state_directory(); !state.empty())
        if (auto opened = open_in(state / "ipybox/placeholders")) return opened;
    auto const fallback = private_state();
    if (!fallback) return failure(fallback.error());
    return open_in(*fallback / "placeholders");
}

IPYBOX_DECL result<placeholder_journal::swept> placeholder_journal::sweep() const {
    auto const lock = journal_lock::take(directory_, std::chrono::seconds(5));
    if (!lock) return failure(lock.error());
    auto const living = living_placeholders(directory_);
    swept found;
    placeholder_places places;
    remove_leftovers(directory_, living, places, &found.removed);
    found.held.reserve(living.size());
    for (auto const& p : living) found.held.push_back(p.what);
    return found;
}

IPYBOX_DECL result<std::shared_ptr<void const>>
placeholder_journal::hold(std::vector<guarded_path> const& guarded) const {
    std::shared_ptr<held_placeholders> held; // ends after the lock: it takes that itself
    auto const lock = journal_lock::take(directory_, std::chrono::seconds(5));
    if (!lock) return failure(lock.error());
    auto const living = living_placeholders(directory_);
    auto const file = directory_ / (random_hex(8) + std::string(journal_suffix));
    auto journal = open_for_lock(file, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
    if (!journal || ::flock(journal.get(), LOCK_EX | LOCK_NB) != 0)
        return failure(system_failure("making " + file.string(), errno));
    held = std::make_shared<held_placeholders>(directory_, file, std::move(journal));
    for (auto const& wanted : guarded) held->use(wanted);
    for (auto const& wanted : guarded) {
        auto const status = status_of(wanted.path);
        auto done = result<void>();
        if (!status)
            done = held->make(wanted);
        else if (placeholder found{wanted, status->st_dev, status->st_ino}; holds(living, found))
            done = held->add(std::move(found));
        if (!done) return failure(done);
    }
    return std::shared_ptr<void const>(held);
}

} // namespace ipybox::detail
