#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/unforked.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <memory>
#include <string>
#include <utility>

namespace ipybox::detail {

/**
 * \brief A pipe that keeps the end of what is written to it, 1 MiB.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class package_output : public std::enable_shared_from_this<package_output> {
  public:
    [[nodiscard]] static result<std::shared_ptr<package_output>> make(asio::any_io_executor const& executor);

    package_output(asio::any_io_executor const& executor, os::unique_fd read_end, os::unique_fd write_end);

    [[nodiscard]] os::unique_fd take_write_end() { return std::move(write_end_); }

    /// All of it, once every copy of the write end is closed.
    [[nodiscard]] asio::awaitable<std::string> text();

  private:
    static asio::awaitable<void> read(std::shared_ptr<package_output> self);

    asio::posix::stream_descriptor read_end_;
    os::unforked unforked_; ///< destroyed before that is closed
    os::unique_fd write_end_;
    asio::steady_timer read_all_; ///< cancelled at the end
    bool ended_ = false;
    std::string text_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/packages/impl/package_output.ipp>
#endif
