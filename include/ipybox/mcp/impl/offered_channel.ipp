#pragma once

#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/mcp/offered_channel.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/stdio_channel.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace ipybox::mcp {
namespace detail {

/// Those that parts of the program brought along, the same one as often as there are such parts.
struct channel_makers {
    std::mutex mutex;
    std::vector<offered_channel::maker> list;
};

inline channel_makers& makers_of_channels() {
    static auto& makers = ipybox::detail::never_destroyed<channel_makers>();
    return makers;
}

} // namespace detail

IPYBOX_DECL offered_channel::offered_channel(maker make) : make_(make) {
    auto& makers = detail::makers_of_channels();
    std::scoped_lock const lock(makers.mutex);
    makers.list.push_back(make_);
}

/// A library that is unloaded takes its own along.
IPYBOX_DECL offered_channel::~offered_channel() {
    auto& makers = detail::makers_of_channels();
    std::scoped_lock const lock(makers.mutex);
    auto const own = std::ranges::find(makers.list, make_);
    if (own != makers.list.end()) makers.list.erase(own);
}

IPYBOX_DECL offered_channel::maker offered_channel::current() {
    auto& makers = detail::makers_of_channels();
    std::scoped_lock const lock(makers.mutex);
    return makers.list.empty() ? nullptr : makers.list.back();
}

IPYBOX_DECL result<std::shared_ptr<channel>> make_channel(asio::any_io_executor const& executor,
                                                          server_params const& params) {
    if (!params.is_remote()) return make_stdio_channel(executor, params, params.stop_grace);
    auto const make = offered_channel::current();
    return make ? make(executor, params) : failure(errc::invalid_argument, std::string(offered_channel::missing));
}

} // namespace ipybox::mcp
