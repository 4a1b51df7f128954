#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/sandbox_report.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using machine_parts = ipybox::sandbox_report::machine_parts;
using ipybox::sandbox_report;
using ipybox::detail::sandbox_report_of;

machine_parts modern() {
    return {.system = "Linux 6.12.1 x86_64", .bubblewrap = "0.8.0", .srt = "", .landlock = 6, .seccomp_filters = true};
}

} // namespace

TEST_CASE("sandbox_report: a machine that has everything") {
    auto const report = sandbox_report_of(modern(), "", "");
    CHECK(report.policies.at(0).whole());
    CHECK(report.text() == "Linux 6.12.1 x86_64\n"
                           "  bubblewrap  0.8.0\n"
                           "  srt         not installed\n"
                           "  Landlock    ABI 6\n"
                           "  seccomp     filters\n"
                           "  cgroup v2   no controllers, not delegated to this user\n"
                           "bubblewrap:\n"
                           "  yes  files: nothing is written but what is writable\n"
                           "  yes  network: none but a loopback of its own\n"
                           "  yes  services: no Unix sockets of the host\n"
                           "  yes  processes: none but its own are seen or signalled\n"
                           "  yes  end: no process outlives the host\n"
                           "  yes  approvals: code cannot start programs by itself (require_shell_escape)\n"
                           "srt:\n"
                           "  yes  files: nothing is written but what is writable\n"
                           "  yes  network: none but the hosts of the configuration\n"
                           "  yes  services: no Unix sockets of the host\n"
                           "  yes  processes: none but its own are signalled\n"
                           "  yes  end: no process outlives the host\n"
                           "  yes  approvals: code cannot start programs by itself (require_shell_escape)\n"
                           "landlock:\n"
                           "  yes  files: nothing is written but what is writable\n"
                           "  no   files: modes and times of the user's other files are left as they are; choose "
                           "bubblewrap\n"
                           "  yes  network: none\n"
                           "  yes  services: no Unix sockets of the host\n"
                           "  yes  processes: none but its own are signalled\n"
                           "  no   processes: none but its own are seen; choose bubblewrap\n"
                           "  no   end: no process outlives the host; commands can hinder that; choose bubblewrap\n"
                           "  yes  approvals: code cannot start programs by itself (require_shell_escape)\n"
                           "none:\n"
                           "  no   files: nothing is written but what is writable; choose bubblewrap\n"
                           "  no   network: none but a loopback of its own; choose bubblewrap\n"
                           "  yes  processes: none but its own are signalled\n"
                           "  yes  approvals: code cannot start programs by itself (require_shell_escape)\n");
}

TEST_CASE("sandbox_report: where bubblewrap does not work, the reason stands for all of it") {
    auto const report = sandbox_report_of(modern(), "bubblewrap is not installed", "no srt");
    CHECK_FALSE(report.policies.at(0).whole());
    CHECK(report.policies.at(0).protections.empty());
    CHECK(report.text().find("\nbubblewrap: does not work here: bubblewrap is not installed\nsrt: does not work here: "
                             "no srt\nlandlock:\n") != std::string::npos);
}

TEST_CASE("sandbox_report: what older systems lack is told with what mends it") {
    auto const gap = [](machine_parts const& machine, std::size_t policy, std::size_t protection) {
        return sandbox_report_of(machine, "", "").policies.at(policy).protections.at(protection).gap;
    };
    auto machine = modern();
    machine.landlock = 5;
    CHECK(gap(machine, 3, 2) == "needs Linux 6.12 or newer (Landlock ABI 6)");
    CHECK(gap(machine, 0, 5).empty());
    CHECK(sandbox_report_of(machine, "", "").policies.at(2).gap == "needs Linux 6.12 or newer (Landlock ABI 6)");
    machine.landlock = 0;
    CHECK(gap(machine, 0, 5).starts_with("needs Landlock: Linux 5.13 or newer"));
    CHECK(gap(machine, 3, 3) == gap(machine, 0, 5));
    machine = modern();
    machine.seccomp_filters = false;
    CHECK(gap(machine, 3, 3).find("CONFIG_SECCOMP_FILTER") != std::string::npos);
    machine = modern();
    machine.system = "Linux 6.12.1 riscv64";
    CHECK(gap(machine, 3, 3) == "is written for x86_64 and aarch64 only");
}

TEST_CASE("sandbox_report: code of root has rights in srt that bubblewrap takes away") {
    auto machine = modern();
    machine.root = true;
    auto const report = sandbox_report_of(machine, "", "");
    CHECK(report.policies.at(0).whole());
    CHECK_FALSE(report.policies.at(1).whole());
    CHECK(report.policies.at(1).protections.at(0).gap.find("run as another user") != std::string::npos);
}

TEST_CASE("sandbox_report: what to do about control groups") {
    auto machine = modern();
    machine.cgroup_controllers = "cpu memory pids";
    machine.delegated_cgroup = true;
    machine.cgroup_advice = "name ../kernels";
    CHECK(sandbox_report_of(machine, "", "")
              .text()
              .find("  cgroup v2   cpu memory pids, delegated to this user; name ../kernels\n") != std::string::npos);
    CHECK_FALSE(sandbox_report::make().machine.cgroup_advice.empty());
}

TEST_CASE("sandbox_report: this machine, as bubblewrap itself sees it") {
    auto const report = sandbox_report::make();
    CHECK(report.machine.system.starts_with("Linux "));
    CHECK(std::ranges::count(report.machine.bubblewrap, '.') == 2);
    CHECK(report.machine.seccomp_filters);
    CHECK(report.policies.at(0).policy == "bubblewrap");
    CHECK(report.policies.at(0).gap.empty());
    CHECK(report.policies.at(1).policy == "srt");
    CHECK(report.policies.at(1).gap.empty() != report.machine.srt.empty());
    CHECK(report.policies.at(2).policy == "landlock");
    CHECK(report.policies.at(2).gap.empty() == (report.machine.landlock >= 6));
    CHECK(report.policies.at(3).policy == "none");
}

TEST_CASE("sandbox_report: a bwrap that does not work") {
    ipybox::test::scratch_dir const dir;
    auto const program = dir.path() / "bwrap";
    std::ofstream(program) << "#!/bin/sh\n[ \"$1\" = --version ] && echo bubblewrap 0.3.1 || echo Unknown option\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    auto const report = sandbox_report::make(ipybox::bubblewrap_sandbox({.program = program}));
    CHECK(report.machine.bubblewrap == "0.3.1");
    CHECK(report.policies.at(0).gap.find("install version 0.8 or newer") != std::string::npos);
}
