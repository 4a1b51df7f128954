#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/http/message.hpp>
#include <ipybox/http/response.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace ipybox::http {

/**
 * \brief Sends requests, each beside the others, and keeps connections for those that follow.
 * \details One thread, on which libcurl works. Proxies are those of the environment: `https_proxy`, `http_proxy`,
 * `no_proxy`.
 * \par Thread safety Safe.
 */
class client {
  public:
    /// That of the process, as long as there are users of it.
    [[nodiscard]] static std::shared_ptr<client> shared();

    client();
    client(client const&) = delete;
    client& operator=(client const&) = delete;

    /// Answers that are under way end with errc::cancelled.
    ~client();

    /// Sends a request. It goes on until its answer is complete, is ended, or is dropped. The client must outlive it.
    [[nodiscard]] std::shared_ptr<response> begin(request wanted);

  private:
    using number = std::uint64_t; ///< of a request

    struct transfer;
    struct handles;
    struct orders;

    void run();
    void take_orders();
    void start(std::unique_ptr<transfer> one);
    void drop(number of);
    void finish_ended();
    [[nodiscard]] std::chrono::milliseconds drop_left();

    ipybox::detail::owning_process const owner_;
    std::unique_ptr<handles> handles_;
    std::map<number, std::unique_ptr<transfer>> running_; ///< of the thread

    std::shared_ptr<orders> orders_; ///< to the thread. Answers have them too: they may outlive the client
    std::thread thread_;             ///< the last member: works on the others
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/client.ipp>
#endif
