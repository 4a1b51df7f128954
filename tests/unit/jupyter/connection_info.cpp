#include <ipybox/jupyter/connection_info.hpp>

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/scratch_dir.hpp"

using namespace ipybox;
using namespace ipybox::jupyter;
using channel = message::channel;
using json = nlohmann::json;
using test::contains;

namespace {

json valid() {
    return {{"transport", "tcp"},  {"ip", "127.0.0.1"},  {"shell_port", 5001},
            {"iopub_port", 5002},  {"stdin_port", 5003}, {"control_port", 5004},
            {"hb_port", 5005},     {"key", "a-b-c"},     {"signature_scheme", "hmac-sha256"},
            {"kernel_name", "ir"}, {"something else", 1}};
}

} // namespace

TEST_CASE("connection_info: parses a file as jupyter_client writes it") {
    auto const info = parse_connection_info(valid().dump());
    REQUIRE(info);
    CHECK(info->protocol == jupyter::detail::socket_protocol::tcp);
    CHECK(info->key == "a-b-c");
    CHECK(info->kernel_name == "ir");
    CHECK(info->address(message::channel::shell) == "tcp://127.0.0.1:5001");
    CHECK(info->address(message::channel::iopub) == "tcp://127.0.0.1:5002");
    CHECK(info->address(message::channel::stdin_) == "tcp://127.0.0.1:5003");
    CHECK(info->address(message::channel::control) == "tcp://127.0.0.1:5004");
    CHECK(info->hb_port == 5005);
}

TEST_CASE("connection_info: ipc addresses are paths") {
    auto file = valid();
    file["transport"] = "ipc";
    file["ip"] = "/run/user/0/kernel-1-ipc";
    auto const info = parse_connection_info(file.dump());
    REQUIRE(info);
    CHECK(info->address(message::channel::control) == "ipc:///run/user/0/kernel-1-ipc-5004");
}

TEST_CASE("connection_info: IPv6 addresses get brackets") {
    auto file = valid();
    file["ip"] = "fe80::1%eth0";
    auto const info = parse_connection_info(file.dump());
    REQUIRE(info);
    CHECK(info->address(message::channel::shell) == "tcp://[fe80::1%eth0]:5001");
}

TEST_CASE("connection_info: what may be absent") {
    auto file = valid();
    for (auto const* name : {"transport", "ip", "key", "signature_scheme", "kernel_name", "hb_port"}) file.erase(name);
    auto const info = parse_connection_info(file.dump());
    REQUIRE(info);
    CHECK(info->protocol == jupyter::detail::socket_protocol::tcp);
    CHECK(info->ip == "127.0.0.1");
    CHECK(info->key.empty());
}

TEST_CASE("connection_info: what cannot be used is a protocol error that says why") {
    auto const reason = [](json const& file) {
        auto const info = parse_connection_info(file.dump());
        REQUIRE_FALSE(info);
        CHECK(info.error() == errc::protocol_error);
        return info.error().text();
    };
    auto const with = [](char const* name, json value) {
        auto file = valid();
        file[name] = std::move(value);
        return file;
    };
    auto const without = [](char const* name) {
        auto file = valid();
        file.erase(name);
        return file;
    };
    CHECK(contains(reason(json::array()), "no JSON object"));
    CHECK(contains(reason(with("transport", "udp")), "transport"));
    CHECK(contains(reason(with("transport", 1)), "transport"));
    CHECK(contains(reason(with("signature_scheme", "hmac-md5")), "hmac-sha256"));
    CHECK(contains(reason(with("key", 5)), "key"));
    CHECK(contains(reason(with("ip", json::object())), "ip"));
    CHECK(contains(reason(with("ip", "")), "ip"));
    CHECK(contains(reason(with("ip", "127.0.0.1;evil")), "ip"));
    CHECK(contains(reason(with("ip", "a/b")), "ip"));
    CHECK(contains(reason(with("curve_publickey", "x")), "curve"));
    for (auto const* name : {"shell_port", "iopub_port", "stdin_port", "control_port"}) {
        CHECK(contains(reason(without(name)), name));
        CHECK(contains(reason(with(name, "5001")), name));
        CHECK(contains(reason(with(name, 1.5)), name));
        CHECK(contains(reason(with(name, 0)), name));
        CHECK(contains(reason(with(name, -1)), name));
        CHECK(contains(reason(with(name, 65536)), name));
        CHECK(contains(reason(with(name, 18446744073709551615ULL)), name));
    }
    CHECK(contains(reason(with("hb_port", "x")), "hb_port"));

    auto ipc = with("transport", "ipc");
    ipc["ip"] = "/" + std::string(101, 'a');
    CHECK(parse_connection_info(ipc.dump())); // 107 bytes with "-5001"
    ipc["ip"] = "/" + std::string(102, 'a');
    CHECK(contains(reason(ipc), "107"));
    ipc["ip"] = std::string("/a\0b", 4);
    CHECK(contains(reason(ipc), "path"));

    CHECK_FALSE(parse_connection_info(""));
    CHECK_FALSE(parse_connection_info("{"));
    CHECK_FALSE(parse_connection_info(std::string(100'000, '[')));
}

TEST_CASE("connection_info: a file for its owner, written and read") {
    test::scratch_dir dir;
    connection_info info;
    info.protocol = jupyter::detail::socket_protocol::ipc;
    info.ip = (dir.path() / "k").string();
    info.shell_port = 1;
    info.iopub_port = 2;
    info.stdin_port = 3;
    info.control_port = 4;
    info.hb_port = 5;
    info.key = "secret";
    info.kernel_name = "python3";
    info.curve_publickey = "p";
    info.curve_secretkey = "s";
    auto const file = dir.path() / "kernel.json";
    REQUIRE(write_connection_file(file, info));
    struct stat status{};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);

    auto const back = read_connection_file(file);
    REQUIRE(back);
    CHECK(to_text(*back) == to_text(info));
    CHECK(back->curve_secretkey == "s");

    auto const again = write_connection_file(file, info);
    REQUIRE_FALSE(again);
    CHECK(again.error() == errc::io_error);
}

TEST_CASE("connection_info: files that cannot be read") {
    test::scratch_dir dir;
    CHECK(read_connection_file(dir.path() / "none").error() == errc::io_error);
    CHECK(read_connection_file(dir.path()).error() == errc::io_error);
    auto const big = dir.path() / "big";
    std::ofstream(big) << std::string(70'000, ' ');
    CHECK(read_connection_file(big).error() == errc::protocol_error);
}

TEST_CASE("connection_info: a file of 64 KiB is read, and a larger one is not") {
    test::scratch_dir const dir;
    auto const text = valid().dump();
    std::string const blanks(64 * 1024 - text.size(), ' ');
    CHECK(read_connection_file(dir.write("longest", text + blanks)));
    auto const refused = read_connection_file(dir.write("longer", text + blanks + ' '));
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::protocol_error);
    CHECK(contains(refused.error().text(), "more than 64 KiB"));
}
