#pragma once

#include <ipybox/async/post_work.hpp>

#include <asio/dispatch.hpp>
#include <asio/post.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL void post_work(asio::any_io_executor const& executor, move_only_function<void()> work) {
    asio::post(executor, std::move(work));
}

IPYBOX_DECL void dispatch_work(asio::any_io_executor const& executor, move_only_function<void()> work) {
    asio::dispatch(executor, std::move(work));
}

} // namespace ipybox::detail
