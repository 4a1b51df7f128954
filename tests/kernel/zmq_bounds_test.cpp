// What a kernel may send over ZeroMQ while a request of the transport's own is waited for.

#include <ipybox/transport/zmq_transport.hpp>

#include <chrono>
#include <string>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/scratch_dir.hpp"
#include "support/scripted_zmq_kernel.hpp"
#include "support/transport_driver.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using test::contains;

zmq_transport::options attached_to(std::filesystem::path const& file) {
    zmq_transport::options options;
    options.connection_file = file;
    return options;
}

/// A scripted kernel, and a transport that is attached to it.
struct attached_box {
    explicit attached_box(test::scripted_zmq_kernel::script does)
        : kernel(dir.path(), std::move(does)), driver(zmq_transport(attached_to(kernel.file)), {}) {}

    result<kernel_host::info> start() {
        kernel_host::launch launch;
        launch.start_bound = 60s;
        return driver.start(std::move(launch));
    }

    test::scratch_dir dir;
    test::scripted_zmq_kernel kernel;
    test::transport_driver<zmq_transport> driver;
};

/// Says so much that no request asked for, and only then that it has interrupted its code.
test::scripted_zmq_kernel::script talks_before_it_answers(int messages) {
    return [messages](auto const& request) {
        if (request.type != "interrupt_request") return;
        for (int i = 0; i < messages; ++i) request.answer("talk_reply", "another");
        request.answer("interrupt_reply");
    };
}

/// Tells so often that it is busy with an interrupt.
test::scripted_zmq_kernel::script repeats_itself(int times) {
    return [times](auto const& request) {
        if (request.type != "interrupt_request") return;
        for (int i = 0; i < times - 1; ++i) request.answer("talk");
        request.answer("interrupt_reply");
    };
}

} // namespace

TEST_CASE("zmq_transport holds 64 messages that come before an answer", "[zmq]") {
    attached_box box(talks_before_it_answers(64));
    REQUIRE(box.start());
    auto const interrupted = box.driver.interrupt();
    if (!interrupted) FAIL(interrupted.error().text());
    int held = 0;
    while (held < 64) { // in their order, among others
        auto const m = box.driver.receive();
        REQUIRE(m);
        if (m->type == "talk_reply") ++held;
    }
}

TEST_CASE("zmq_transport: one message more than is held before an answer ends the kernel's service", "[zmq]") {
    attached_box box(talks_before_it_answers(65));
    REQUIRE(box.start());
    auto const interrupted = box.driver.interrupt();
    REQUIRE_FALSE(interrupted);
    CHECK(interrupted.error() == errc::protocol_error);
    CHECK(contains(interrupted.error().text(), "more than 64 messages instead of the answer"));
    for (;;) { // what was held comes, then why there is no more
        auto const m = box.driver.receive();
        if (m) continue;
        CHECK(m.error() == errc::protocol_error);
        break;
    }
}

TEST_CASE("zmq_transport takes 1000 answers to one request of its own, and no more", "[zmq]") {
    bool const fits = GENERATE(true, false);
    attached_box box(repeats_itself(fits ? 1000 : 1001));
    REQUIRE(box.start());
    auto const interrupted = box.driver.interrupt();
    REQUIRE(interrupted.has_value() == fits);
    if (fits) return;
    CHECK(interrupted.error() == errc::protocol_error);
    CHECK(contains(interrupted.error().text(), "more than 1000 times"));
}
