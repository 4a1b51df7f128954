#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/blocked_signals.hpp>
#include <ipybox/async/completion.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/network/host_lookup.hpp>
#include <ipybox/network/host_rules.hpp>

#include <netdb.h>
#include <sys/socket.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

namespace ipybox::detail {

using found_addresses = result<std::vector<asio::ip::address>>;

IPYBOX_DECL found_addresses look_up_in_system(std::string const& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    addrinfo* first = nullptr;
    auto const failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &first);
    if (failed != 0) return failure(errc::io_error, host + " is not found: " + ::gai_strerror(failed));
    std::unique_ptr<addrinfo, decltype([](addrinfo* list) { ::freeaddrinfo(list); })> const list(first);
    std::vector<asio::ip::address> found;
    for (auto const* each = first; each != nullptr; each = each->ai_next)
        if (auto const address = address_of(each->ai_addr)) found.push_back(*address);
    return found;
}

/// The application's own `resolve` may throw.
inline found_addresses look_up_now(sandbox_config::network_access const& config, std::string const& host) {
    if (!config.resolve) return look_up_in_system(host);
    try {
        return config.resolve(host);
    } catch (...) { return failure(error_of(std::current_exception())); }
}

/// One of the lookups that are under way; none where there are too many.
class lookup_turn {
  public:
    [[nodiscard]] static std::shared_ptr<lookup_turn> take() {
        auto const turn = std::shared_ptr<lookup_turn>(new lookup_turn);
        return turn->before_ < most_lookups ? turn : nullptr;
    }
    lookup_turn(lookup_turn const&) = delete;
    lookup_turn& operator=(lookup_turn const&) = delete;
    ~lookup_turn() { --count(); }

  private:
    lookup_turn() : before_(count()++) {}
    static std::atomic<int>& count() {
        static std::atomic<int> lookups = 0;
        return lookups;
    }
    int const before_;
};

IPYBOX_DECL asio::awaitable<found_addresses> look_up_host(std::shared_ptr<sandbox_config::network_access const> config,
                                                          std::string host) {
    asio::error_code no_address;
    auto const address = asio::ip::make_address(host, no_address);
    if (!no_address) co_return std::vector<asio::ip::address>{address};
    auto const turn = lookup_turn::take();
    if (!turn) co_return failure(errc::io_error, "too many names are being looked up");
    auto const look = [&](completion<found_addresses> done) {
        auto const answer = std::make_shared<completion<found_addresses>>(std::move(done));
        blocked_signals const blocked;
        try {
            std::thread([answer, config, host, turn] { (*answer)(look_up_now(*config, host)); }).detach();
        } catch (std::exception const& why) {
            (*answer)(failure(errc::io_error, std::string("no thread can be made to look up a name: ") + why.what()));
        }
    };
    co_return co_await await_completion<found_addresses>(look);
}

} // namespace ipybox::detail
