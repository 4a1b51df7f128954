#include <ipybox/network/host_lookup.hpp>

#include <support/catch.hpp>
#include <support/eventually.hpp>
#include <support/holdings.hpp>
#include <support/signal_mask.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::detail;

using lookup = result<std::vector<asio::ip::address>>;

/// Looks up hosts beside each other, and returns what came of each. Waits for the ends of the threads: what the system
/// keeps for each of them would count as lost in a process that ends before.
std::vector<lookup> look_up(std::shared_ptr<sandbox_config::network_access const> const& config,
                            std::vector<std::string> const& hosts) {
    std::thread([] {}).join(); // with the first one TSan starts a thread of its own, which stays
    auto const threads = test::entries_of("/proc/self/task");
    asio::io_context context;
    std::vector<lookup> found(hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i)
        asio::co_spawn(context, look_up_host(config, hosts[i]),
                       [&found, i](std::exception_ptr, lookup came) { found[i] = std::move(came); });
    context.run();
    CHECK(test::eventually([&] { return test::entries_of("/proc/self/task") <= threads; }));
    return found;
}

std::string first_of(lookup const& found) { return found && !found->empty() ? found->front().to_string() : "none"; }

} // namespace

TEST_CASE("look_up_host: an address is itself, and a name what the system says", "[tsan]") {
    auto const config = std::make_shared<sandbox_config::network_access const>();
    auto const found = look_up(config, {"8.8.8.8", "2606:4700::1", "localhost", "no-such-host.invalid"});
    CHECK(first_of(found[0]) == "8.8.8.8");
    CHECK(first_of(found[1]) == "2606:4700::1");
    CHECK((first_of(found[2]) == "127.0.0.1" || first_of(found[2]) == "::1"));
    REQUIRE_FALSE(found[3]);
    CHECK(found[3].error().text().starts_with("no-such-host.invalid is not found: "));
}

TEST_CASE("look_up_host: takes no signals but those of its own instructions", "[tsan]") {
    auto config = std::make_shared<sandbox_config::network_access>();
    config->resolve = [](std::string const&) -> lookup {
        return std::vector{asio::ip::make_address(test::takes_own_signals_alone() ? "8.8.8.8" : "9.9.9.9")};
    };
    CHECK(first_of(look_up(config, {"a.test"})[0]) == "8.8.8.8");
}

TEST_CASE("look_up_host: so many at one time, and further ones when these have ended", "[tsan]") {
    struct gate {
        std::mutex mutex;
        std::condition_variable changed;
        int refused = 0;
    };
    auto config = std::make_shared<sandbox_config::network_access>();
    auto const shared = std::make_shared<gate>();
    config->resolve = [shared](std::string const&) -> lookup {
        std::unique_lock lock(shared->mutex);
        shared->changed.wait(lock, [&] { return shared->refused > 0; });
        return std::vector<asio::ip::address>{asio::ip::make_address("8.8.8.8")};
    };
    asio::io_context context;
    int found = 0;
    for (int i = 0; i < most_lookups + 1; ++i)
        asio::co_spawn(context, look_up_host(config, "a.test"), [&](std::exception_ptr, lookup const& came) {
            if (came) return (void)++found;
            CHECK(came.error().text() == "too many names are being looked up");
            std::scoped_lock const lock(shared->mutex);
            ++shared->refused;
            shared->changed.notify_all();
        });
    context.run();
    CHECK(found == most_lookups);
    CHECK(shared->refused == 1);
}
