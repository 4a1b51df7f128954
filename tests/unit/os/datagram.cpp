#include <ipybox/os/datagram.hpp>

#include <support/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::os;

socket_pair a_pair() {
    auto pair = make_seqpacket_pair();
    REQUIRE(pair);
    return std::move(*pair);
}

/// Receives a datagram together with its descriptors, as the other side does.
std::vector<unique_fd> receive_descriptors(int socket) {
    char bytes[64];
    alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = {};
    iovec part{bytes, sizeof bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    std::vector<unique_fd> descriptors;
    if (::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) return descriptors;
    for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        auto const* numbers = reinterpret_cast<int const*>(CMSG_DATA(header));
        auto const count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) descriptors.emplace_back(numbers[i]);
    }
    return descriptors;
}

/// Sends a datagram with up to 16 descriptors.
void send_descriptors(int socket, std::vector<unique_fd> const& descriptors) {
    alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = {};
    char byte = 'x';
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    auto* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
        int const number = descriptors[i].get();
        std::memcpy(CMSG_DATA(header) + i * sizeof number, &number, sizeof number);
    }
    REQUIRE(::sendmsg(socket, &message, 0) == 1);
}

std::string all_of(int fd) {
    std::string text(100, '\0');
    auto const count = ::read(fd, text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

/// How many descriptors of ours are the same open file as this one.
int times_open(int fd) {
    struct stat wanted{};
    REQUIRE(::fstat(fd, &wanted) == 0);
    int count = 0;
    for (int number = 0; number < 256; ++number) {
        struct stat found{};
        if (::fstat(number, &found) == 0 && found.st_ino == wanted.st_ino && found.st_dev == wanted.st_dev) ++count;
    }
    return count;
}

} // namespace

TEST_CASE("datagram: borders of messages are kept, both ways") {
    auto const pair = a_pair();
    std::string bytes;
    REQUIRE(send_datagram(pair.ours.get(), "one", {}) == transfer::done);
    REQUIRE(send_datagram(pair.ours.get(), std::string("t\0o", 3), {}) == transfer::done);
    REQUIRE(send_datagram(pair.theirs.get(), "back", {}) == transfer::done);
    REQUIRE(receive_datagram(pair.theirs.get(), bytes, 100) == transfer::done);
    CHECK(bytes == "one");
    REQUIRE(receive_datagram(pair.theirs.get(), bytes, 100) == transfer::done);
    CHECK(bytes == std::string("t\0o", 3));
    REQUIRE(receive_datagram(pair.ours.get(), bytes, 4) == transfer::done);
    CHECK(bytes == "back");
}

TEST_CASE("datagram: nothing there, and no room") {
    auto const pair = a_pair();
    std::string bytes;
    CHECK(receive_datagram(pair.ours.get(), bytes, 100) == transfer::would_block);
    std::string const block(1000, 'x');
    int sent = 0;
    auto last = transfer::done;
    while (sent < 100'000 && (last = send_datagram(pair.ours.get(), block, {})) == transfer::done) ++sent;
    CHECK(last == transfer::would_block);
    REQUIRE(sent > 0);
    while (sent-- > 0) REQUIRE(receive_datagram(pair.theirs.get(), bytes, 1000) == transfer::done);
    CHECK(send_datagram(pair.ours.get(), block, {}) == transfer::done);
}

TEST_CASE("datagram: the other side is gone") {
    auto pair = a_pair();
    REQUIRE(send_datagram(pair.theirs.get(), "last words", {}) == transfer::done);
    pair.theirs.reset();
    std::string bytes;
    CHECK(send_datagram(pair.ours.get(), "x", {}) == transfer::closed); // and no SIGPIPE
    CHECK(receive_datagram(pair.ours.get(), bytes, 100) == transfer::done);
    CHECK(bytes == "last words");
    CHECK(receive_datagram(pair.ours.get(), bytes, 100) == transfer::closed);
}

TEST_CASE("datagram: one that is larger than its bound is a failure, never a part") {
    auto const pair = a_pair();
    std::string bytes;
    REQUIRE(send_datagram(pair.ours.get(), "12345", {}) == transfer::done);
    REQUIRE(send_datagram(pair.ours.get(), "next", {}) == transfer::done);
    errno = 0;
    CHECK(receive_datagram(pair.theirs.get(), bytes, 4) == transfer::failed);
    CHECK(errno == EMSGSIZE);
    CHECK(receive_datagram(pair.theirs.get(), bytes, 4) == transfer::done);
    CHECK(bytes == "next");

    errno = 0;
    CHECK(send_datagram(pair.ours.get(), std::string(64 << 20, 'x'), {}) == transfer::failed);
    CHECK(errno == EMSGSIZE);
}

TEST_CASE("datagram: failures of the system") {
    std::string bytes;
    CHECK(send_datagram(-1, "x", {}) == transfer::failed);
    CHECK(errno == EBADF);
    CHECK(receive_datagram(-1, bytes, 10) == transfer::failed);
    CHECK(errno == EBADF);
}

TEST_CASE("datagram: descriptors go along as copies") {
    auto const pair = a_pair();
    std::vector<unique_fd> files;
    for (auto const* text : {"first", "second", "third"}) {
        auto file = make_memory_file("test", text);
        REQUIRE(file);
        files.push_back(std::move(*file));
    }
    REQUIRE(send_datagram(pair.ours.get(), "files", files) == transfer::done);
    auto const received = receive_descriptors(pair.theirs.get());
    REQUIRE(received.size() == 3);
    CHECK(all_of(received[0].get()) == "first");
    CHECK(all_of(received[1].get()) == "second");
    CHECK(all_of(received[2].get()) == "third");
    CHECK(::fcntl(files[0].get(), F_GETFD) >= 0);
}

TEST_CASE("datagram: descriptors can be taken with what they came with") {
    auto const pair = a_pair();
    std::vector<unique_fd> files;
    auto file = make_memory_file("test", "text");
    REQUIRE(file);
    files.push_back(std::move(*file));
    std::string bytes;
    std::vector<unique_fd> received;
    REQUIRE(send_datagram(pair.ours.get(), "one", files) == transfer::done);
    REQUIRE(send_datagram(pair.ours.get(), "none", {}) == transfer::done);
    REQUIRE(receive_datagram(pair.theirs.get(), bytes, 100, received) == transfer::done);
    CHECK(bytes == "one");
    REQUIRE(received.size() == 1);
    CHECK(all_of(received[0].get()) == "text");
    CHECK((::fcntl(received[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
    REQUIRE(receive_datagram(pair.theirs.get(), bytes, 100, received) == transfer::done);
    CHECK(bytes == "none");
    CHECK(received.empty());
    REQUIRE(send_datagram(pair.ours.get(), "too long", files) == transfer::done);
    CHECK(receive_datagram(pair.theirs.get(), bytes, 4, received) == transfer::failed);
}

TEST_CASE("datagram: 8 descriptors go along, and more do not") {
    auto const pair = a_pair();
    std::vector<unique_fd> files;
    auto const add = [&files] {
        auto file = make_memory_file("test", "");
        REQUIRE(file);
        files.push_back(std::move(*file));
    };
    std::string bytes;
    std::vector<unique_fd> received;
    while (files.size() < 8) add();
    REQUIRE(send_datagram(pair.ours.get(), "x", files) == transfer::done);
    REQUIRE(receive_datagram(pair.theirs.get(), bytes, 10, received) == transfer::done);
    CHECK(received.size() == 8);

    add();
    CHECK(send_datagram(pair.ours.get(), "x", files) == transfer::failed);
    CHECK(errno == E2BIG);
    CHECK(receive_datagram(pair.theirs.get(), bytes, 10, received) == transfer::would_block);
    int const before = times_open(files[8].get());
    send_descriptors(pair.ours.get(), files); // as another program would
    REQUIRE(receive_datagram(pair.theirs.get(), bytes, 10, received) == transfer::done);
    CHECK(received.size() == 8);
    CHECK(times_open(files[8].get()) == before);
}

TEST_CASE("datagram: descriptors that are sent to us do not stay open") {
    auto const pair = a_pair();
    std::vector<unique_fd> files;
    auto file = make_memory_file("test", "");
    REQUIRE(file);
    files.push_back(std::move(*file));
    int const before = times_open(files[0].get());
    std::string bytes;
    for (int i = 0; i < 10; ++i) {
        REQUIRE(send_datagram(pair.theirs.get(), "x", files) == transfer::done);
        REQUIRE(receive_datagram(pair.ours.get(), bytes, 10) == transfer::done);
    }
    CHECK(times_open(files[0].get()) == before);
}

TEST_CASE("datagram: pairs are closed in programs that are started") {
    auto const messages = a_pair();
    auto const stream = make_stream_pair(1 << 20);
    REQUIRE(stream);
    for (int const fd : {messages.ours.get(), messages.theirs.get(), stream->ours.get(), stream->theirs.get()})
        CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    REQUIRE(::send(stream->ours.get(), "ab", 2, 0) == 2);
    REQUIRE(::send(stream->ours.get(), "cd", 2, 0) == 2);
    CHECK(all_of(stream->theirs.get()) == "abcd");
}

TEST_CASE("memory file: read from its beginning") {
    auto const small = make_memory_file("small", "text");
    REQUIRE(small);
    CHECK(all_of(small->get()) == "text");
    CHECK((::fcntl(small->get(), F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(make_memory_file("empty", ""));

    auto const large = make_memory_file("large", std::string(5'000'000, 'x'));
    REQUIRE(large);
    struct stat info{};
    REQUIRE(::fstat(large->get(), &info) == 0);
    CHECK(info.st_size == 5'000'000);

    auto const bad = make_memory_file(std::string(1000, 'n').c_str(), "");
    REQUIRE_FALSE(bad);
    CHECK(bad.error() == errc::io_error);
}
