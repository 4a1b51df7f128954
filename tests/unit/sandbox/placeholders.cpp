#include <ipybox/os/unique_fd.hpp>
#include <ipybox/sandbox/placeholder_journal.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

namespace fs = std::filesystem;

namespace {

using ipybox::detail::guarded_path;
using ipybox::detail::placeholder_journal;

/// A project and the journal of a user.
struct placed {
    ipybox::test::scratch_dir dir;
    fs::path work = dir.path() / "work";
    placeholder_journal journal = *placeholder_journal::open_in(dir.path() / "state");
    std::vector<guarded_path> wanted{{work / ".bashrc"}, {work / ".git", guarded_path::kind::directory}};

    placed() { fs::create_directory(work); }

    std::shared_ptr<void const> hold() const {
        auto held = journal.hold(wanted);
        REQUIRE(held);
        return *std::move(held);
    }

    /// Another process holds them and is killed.
    void hold_and_die() const {
        auto const pid = ::fork();
        if (pid == 0) {
            auto const held = journal.hold(wanted);
            ::raise(SIGKILL);
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        REQUIRE(WIFSIGNALED(status));
    }

    std::size_t held() const {
        auto const there = journal.sweep();
        REQUIRE(there);
        return there->held.size();
    }

    bool is_clean() const { return fs::is_empty(work) && journals() == 0; }

    std::size_t journals() const {
        std::size_t count = 0;
        for (auto const& entry : fs::directory_iterator(journal.directory()))
            count += entry.path().extension() == ".held";
        return count;
    }
};

} // namespace

TEST_CASE("placeholders: are there while they are held, and no longer") {
    placed const here;
    {
        auto const held = here.hold();
        CHECK(fs::is_regular_file(here.work / ".bashrc"));
        CHECK(fs::is_directory(here.work / ".git"));
        CHECK(here.held() == 2);
    }
    CHECK(here.is_clean());
}

TEST_CASE("placeholders: what is there already stays as it is") {
    placed const here;
    std::ofstream(here.work / ".bashrc") << "mine";
    here.hold().reset();
    CHECK(fs::file_size(here.work / ".bashrc") == 4);
    CHECK_FALSE(fs::exists(here.work / ".git"));
}

TEST_CASE("placeholders: those that somebody has filled or replaced are not removed") {
    placed const here;
    auto held = here.hold();
    std::ofstream(here.work / ".bashrc") << "mine";
    fs::remove(here.work / ".git");
    fs::create_directory(here.work / "other"); // takes its inode, maybe
    fs::create_directory(here.work / ".git");
    std::ofstream(here.work / ".git/config") << "mine";
    held.reset();
    CHECK(fs::exists(here.work / ".bashrc"));
    CHECK(fs::exists(here.work / ".git/config"));
}

TEST_CASE("placeholders: the last of those who share them removes them") {
    placed const here;
    auto first = here.hold();
    auto second = here.hold();
    first.reset();
    CHECK(fs::exists(here.work / ".bashrc"));
    CHECK(fs::exists(here.work / ".git"));
    second.reset();
    CHECK(here.is_clean());
}

TEST_CASE("placeholders: are shared under the other name that a second mount or a link gives them") {
    placed const here;
    auto const also = here.dir.path() / "also";
    fs::create_directory_symlink(here.work, also);
    auto first = here.hold();
    auto second = here.journal.hold({{also / ".bashrc"}, {also / ".git", guarded_path::kind::directory}});
    REQUIRE(second);
    first.reset();
    CHECK(fs::exists(here.work / ".bashrc"));
    CHECK(fs::exists(here.work / ".git"));
    second->reset();
    CHECK(here.is_clean());
}

TEST_CASE("placeholders: stay while a sandbox that knows another state directory uses them") {
    placed const here;
    auto const elsewhere = *placeholder_journal::open_in(here.dir.path() / "other state");
    auto first = here.hold();
    auto second = elsewhere.hold(here.wanted); // takes them for the user's
    REQUIRE(second);
    first.reset();
    CHECK(fs::exists(here.work / ".bashrc"));
    CHECK(fs::exists(here.work / ".git"));
    CHECK(here.held() == 0);
    second->reset();
    SECTION("the next start removes them") {
        auto const swept = here.journal.sweep();
        REQUIRE(swept);
        CHECK(swept->removed.size() == 2);
    }
    SECTION("the end of the next one does, which holds them itself") { here.hold().reset(); }
    CHECK(here.is_clean());
}

TEST_CASE("placeholders: one that cannot be made leaves nothing in the patterns of git") {
    placed const here;
    fs::create_directories(here.work / ".git/info");
    std::ofstream(here.work / ".git/info/exclude") << "*.o\n";
    REQUIRE(here.journal.hold({{here.work / "missing/config"}}));
    CHECK(fs::file_size(here.work / ".git/info/exclude") == 4);
}

TEST_CASE("placeholders: what a killed host left behind is removed by the next one") {
    placed const here;
    here.hold_and_die();
    CHECK(fs::exists(here.work / ".git"));
    CHECK(here.held() == 0);
    CHECK(here.is_clean());

    here.hold_and_die();
    std::ofstream(here.work / ".bashrc") << "mine";
    CHECK(here.held() == 0);
    CHECK(fs::exists(here.work / ".bashrc"));
    CHECK_FALSE(fs::exists(here.work / ".git"));
}

TEST_CASE("placeholders: what was removed is told, and a file that says `.` is one") {
    placed const here;
    auto const commondir = here.work / "commondir";
    std::vector<guarded_path> const wanted{{commondir, guarded_path::kind::dot_file}};
    auto held = here.journal.hold(wanted);
    REQUIRE(held);
    CHECK(ipybox::test::read_file(commondir) == ".\n");
    held->reset();
    CHECK(here.is_clean());

    here.hold_and_die();
    auto const swept = here.journal.sweep();
    REQUIRE(swept);
    CHECK(swept->removed == std::vector<fs::path>{here.work / ".git", here.work / ".bashrc"});
    CHECK(here.journal.sweep()->removed.empty());
}

TEST_CASE("placeholders: git passes over a file that stands for a missing one, and its patterns are as before") {
    for (auto const* const own : {"", "*.log", "*.log\n"}) {
        INFO(own);
        placed const here;
        auto const exclude = here.work / ".git/info/exclude";
        if (*own) {
            fs::create_directories(exclude.parent_path());
            std::ofstream(exclude) << own;
        }
        auto const wanted =
            std::vector<guarded_path>{{here.work / ".git", guarded_path::kind::directory}, {here.work / "a b*"}};
        auto held = here.journal.hold(wanted);
        REQUIRE(held);
        auto again = here.journal.hold(wanted);
        REQUIRE(again);
        CHECK(ipybox::test::read_file(exclude).ends_with("# ipybox: a placeholder while a sandbox lives\n/a\\ b\\*\n"));
        held->reset();
        CHECK(ipybox::test::read_file(exclude).find("/a") != std::string::npos); // another one holds it
        again->reset();
        CHECK(here.journals() == 0);
        CHECK(fs::exists(here.work / ".git") == (*own != 0));
        if (*own) CHECK(ipybox::test::read_file(exclude).starts_with("*.log"));
    }
}

TEST_CASE("placeholders: patterns of git are not written through a link that code may have made") {
    placed const here;
    fs::create_directories(here.work / ".git");
    std::ofstream(here.dir.path() / "exclude") << "";
    fs::create_directory_symlink(here.dir.path(), here.work / ".git/info");
    auto const held = here.journal.hold({{here.work / "x"}});
    REQUIRE(held);
    CHECK(fs::is_empty(here.dir.path() / "exclude"));
}

TEST_CASE("placeholders: a host that lives keeps what a killed one shared with it") {
    placed const here;
    auto held = here.hold();
    here.hold_and_die();
    CHECK(here.held() == 2);
    CHECK(fs::exists(here.work / ".git"));
    held.reset();
    CHECK(here.is_clean());
}

TEST_CASE("placeholders: a fork of their host does not remove them") {
    placed const here;
    auto held = here.hold();
    if (auto const pid = ::fork(); pid == 0) {
        held.reset();
        ::_exit(0);
    } else {
        ::waitpid(pid, nullptr, 0);
    }
    CHECK(fs::exists(here.work / ".git"));
    held.reset();
    CHECK(here.is_clean());
}

TEST_CASE("placeholders: a fork of a host that has ended holds none") {
    placed const here;
    int told[2] = {-1, -1};
    REQUIRE(::pipe2(told, O_CLOEXEC) == 0);
    ipybox::os::unique_fd const reader(told[0]);
    ipybox::os::unique_fd const writer(told[1]);
    auto const host = ::fork();
    if (host == 0) {
        auto const held = here.journal.hold(here.wanted);
        auto const fork_of_host = ::fork();
        if (fork_of_host == 0) {
            auto const self = ::getpid();
            if (::write(writer.get(), &self, sizeof self) != sizeof self) ::_exit(1);
            for (;;) ::pause();
        }
        for (;;) ::pause();
    }
    REQUIRE(host > 0);
    pid_t idle = -1;
    REQUIRE(::read(reader.get(), &idle, sizeof idle) == sizeof idle);
    REQUIRE(idle > 0);
    CHECK(here.held() > 0);
    ::kill(host, SIGKILL);
    ::waitpid(host, nullptr, 0);
    CHECK(here.held() == 0);
    CHECK(here.is_clean());
    ::kill(idle, SIGKILL);
}

TEST_CASE("placeholders: a path that cannot be made is left out") {
    placed here;
    here.wanted = {{"/proc/none"}, {here.work / "missing/file"}, {here.work / ".bashrc"}};
    auto held = here.hold();
    CHECK(fs::exists(here.work / ".bashrc"));
    held.reset();
    CHECK(here.is_clean());
}

TEST_CASE("placeholders: a journal that another process keeps locked is an error after a bound") {
    placed const here;
    (void)here.held();
    ipybox::os::unique_fd const lock(::open((here.journal.directory() / "lock").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
    auto const held = here.journal.hold(here.wanted);
    REQUIRE_FALSE(held);
    CHECK(held.error() == ipybox::errc::io_error);
    CHECK(held.error().text().find("is locked by another process for more than 5000 ms") != std::string::npos);
    CHECK_FALSE(fs::exists(here.work / ".git"));
}

TEST_CASE("placeholders: who may only read cannot hold the lock") {
    placed const here;
    auto const lock = here.journal.directory() / "lock";
    std::ofstream{lock}; // an older one
    fs::permissions(lock, fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
    here.hold();
    CHECK(fs::status(lock).permissions() == fs::perms::owner_write);
}

TEST_CASE("placeholders: a journal of 16 MiB is read, and a longer one is not") {
    placed const p;
    auto const file = p.work / ".bashrc";
    std::ofstream(file).close(); // as a host made it that was killed
    struct stat status{};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    auto text = std::to_string(status.st_dev) + ' ' + std::to_string(status.st_ino) + " f " + file.string() + '\0';
    text.append((std::size_t(16) << 20) - text.size(), 'x'); // a record that was not finished
    bool const fits = GENERATE(true, false);
    std::ofstream(p.journal.directory() / "dead.held") << text << (fits ? "" : "x");
    CHECK(p.held() == 0);
    CHECK(fs::exists(file) == !fits);
    CHECK(p.journals() == (fits ? 0 : 1));
}

TEST_CASE("placeholders: no longer journal is written than is read") {
    placed const p;
    std::vector<guarded_path> wanted;
    std::size_t bytes = 0;
    auto const add = [&](std::size_t length) {
        auto path = (p.work / "none").string(); // where none can be made
        while (path.size() < length)
            path += '/' + std::string(std::min<std::size_t>(200, length - path.size() - 1), 'x');
        wanted.push_back({path});
        bytes += std::string("0 0 f ").size() + path.size() + 1;
    };
    std::size_t const most = std::size_t(16) << 20;
    while (most - bytes > 4007) add(4000);
    add(most - bytes - 7);
    REQUIRE(bytes == most);
    CHECK(p.journal.hold(wanted));
    wanted.push_back({p.work / "none/last"});
    auto const refused = p.journal.hold(wanted);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == ipybox::errc::invalid_argument);
    CHECK(p.is_clean());
}
