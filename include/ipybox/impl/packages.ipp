#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/impl/wait_for.hpp>
#include <ipybox/packages.hpp>
#include <ipybox/services/package_service.hpp>
#include <ipybox/session/session_handle.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {

IPYBOX_DECL result<detail::installation> executor_base::install_package(std::vector<std::string> words) {
    return detail::wait_for<installation>(
        *session_, [&](auto done) { submit_installation(session_, std::move(words), std::move(done)); });
}

IPYBOX_DECL result<detail::installation> executor_base::install_package(std::string name) {
    return install_package(std::vector<std::string>{std::move(name)});
}

IPYBOX_DECL void executor_base::submit_installation(session_ptr const& s, std::vector<std::string> words,
                                                    detail::completion<result<installation>> done) {
    auto const install = [words = std::move(words)](detail::session& session, auto const& call) {
        auto const begin = [weak = session.weak_from_this(), words, call](result<void> started) {
            auto const self = weak.lock();
            if (!self || !started) return call->fail(self ? started.error() : error(errc::not_running, ""));
            auto packages = self->services().get<detail::package_service>();
            spawn(self->executor(), detail::package_service::install(std::move(packages), words), delivery_to(call));
        };
        session.when_started(begin);
    };
    s->ask(std::move(done), install, detail::pending_call::served::in_its_turn);
}

} // namespace ipybox
