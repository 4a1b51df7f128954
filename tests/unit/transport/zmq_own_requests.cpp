#include <ipybox/transport/zmq_own_requests.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace {

using ipybox::detail::zmq_own_requests;
using channel = ipybox::jupyter::message::channel;
using ipybox::jupyter::message;
using kind = zmq_own_requests::kind;

kind told(zmq_own_requests& own, std::string const& parent, std::string type = "kernel_info_reply",
          channel on = channel::shell) {
    message m(on, std::move(type), {{"status", "ok"}});
    m.parent_id = parent;
    return own.take(m);
}

} // namespace

TEST_CASE("zmq_own_requests: messages about other requests are not theirs") {
    zmq_own_requests own;
    zmq_own_requests another;
    CHECK(told(own, "") == kind::foreign);
    CHECK(told(own, "some request") == kind::foreign);
    CHECK(told(own, another.next_id()) == kind::foreign);
    auto const first = own.next_id();
    CHECK(told(own, first) == kind::passed);
    CHECK(first != own.next_id());
}

TEST_CASE("zmq_own_requests: the reply to a request is kept while it is waited for") {
    zmq_own_requests own;
    auto const id = own.next_id();
    {
        zmq_own_requests::expected_reply const expected(own, id);
        CHECK(told(own, id, "status", channel::iopub) == kind::passed);
        CHECK(told(own, id, "stream") == kind::passed);
        CHECK(told(own, own.next_id()) == kind::passed); // of another one
        CHECK_FALSE(expected.get());
        CHECK(told(own, id) == kind::taken);
        REQUIRE(expected.get());
        CHECK(expected.get()->type == "kernel_info_reply");
    }
    CHECK(told(own, id) == kind::passed);
}

TEST_CASE("zmq_own_requests: of several requests for a sign of life the latest counts") {
    zmq_own_requests own;
    CHECK(own.is_alive());
    auto const first = own.next_sign_of_life();
    auto const second = own.next_sign_of_life();
    CHECK(told(own, first) == kind::passed);
    CHECK(told(own, second, "status", channel::iopub) == kind::passed);
    CHECK_FALSE(own.is_alive());
    CHECK(told(own, second) == kind::taken);
    CHECK(own.is_alive());
}

TEST_CASE("zmq_own_requests: 1000 answers to one request, and one more") {
    zmq_own_requests own;
    for (int request = 0; request < 2; ++request) { // counted anew for each
        auto const id = own.next_id();
        for (int i = 0; i < 1000; ++i) REQUIRE(told(own, id, "status", channel::iopub) == kind::passed);
        CHECK(told(own, id) == kind::one_too_many);
    }
}
