#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/codegen.hpp>
#include <ipybox/codegen/generate.hpp>
#include <ipybox/codegen/root_index.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/impl/wait_for.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/services/generated_places.hpp>
#include <ipybox/services/tool_service.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/tools/tool_packages.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {

namespace detail {

/// Code in the kernel may have made links in its working directory.
inline codegen::generate_options options_for(std::string const& package, codegen::generate_options options,
                                             session_handle const& session) {
    if (options.code_dir.empty()) options.code_dir = session.code_dir();
    auto const own = tool_service::of(session).functions;
    if (options.about.empty() && own && own->list(package)) options.about = "Tools of the application.";
    return options;
}

/// Generates the package of a server that has been asked for its tools, and remembers where: tools may change.
inline result<codegen::generated_sources> generate_package(session_handle& session, std::string const& package,
                                                           std::vector<mcp::tool> const& tools,
                                                           std::filesystem::path root_dir,
                                                           codegen::generate_options options) {
    auto const parts = tool_service::of(session);
    if (options.instructions.empty() && parts.servers) options.instructions = parts.servers->instructions(package);
    auto written = codegen::generate(package, tools, root_dir, options);
    if (!written) return written;
    std::error_code ignored; // the current directory may be another one by then
    generated_place place{std::filesystem::absolute(root_dir, ignored),
                          std::make_shared<codegen::generate_options const>(std::move(options))};
    if (parts.functions && parts.functions->list(package)) {
        parts.places->remember(package, std::move(place));
    } else {
        session.post([package, place = std::move(place)](detail::session& s) {
            s.services().get<tool_service>()->offered().remember(package, place);
        });
    }
    return written;
}

/// Asks a server for its tools.
inline void list_tools(session& s, std::string server,
                       std::shared_ptr<pending_result<std::vector<mcp::tool>>> const& call) {
    auto const servers = s.services().get<tool_service>()->parts().servers;
    spawn(s.executor(), servers->list_tools(std::move(server)), delivery_to(call));
}

} // namespace detail

IPYBOX_DECL result<codegen::generated_sources>
executor_base::generate_mcp_sources(std::string server, std::filesystem::path root_dir,
                                    codegen::generate_options const& options) {
    using list = std::vector<mcp::tool>;
    auto tools = detail::wait_for<list>(*session_, [&](auto done) {
        auto const ask = [&server](detail::session& session, auto const& call) {
            detail::list_tools(session, server, call);
        };
        session_->ask(std::move(done), ask);
    });
    if (!tools) return failure(tools.error());
    auto how = detail::options_for(server, options, *session_);
    return detail::generate_package(*session_, server, *tools, std::move(root_dir), std::move(how));
}

/// Writes what `import mcptools` takes, and offers packages there.
IPYBOX_DECL result<void> executor_base::offer_in(std::filesystem::path root_dir, offer made) {
    codegen::generate_options options;
    options.code_dir = session_->code_dir();
    if (auto written = codegen::detail::write_index(root_dir, options); !written) return written;
    std::error_code gone; // the current directory may be another one by then
    if (auto whole = std::filesystem::absolute(root_dir, gone); !gone) root_dir = std::move(whole);
    detail::generated_place const place{std::move(root_dir),
                                        std::make_shared<codegen::generate_options const>(std::move(options))};
    auto const work = [place, made = std::move(made)](detail::session& session) { made(session, place); };
    return session_->post(work) ? result<void>() : failure(errc::not_running);
}

IPYBOX_DECL result<void> executor_base::offer_mcp_sources(std::vector<std::string> servers,
                                                          std::filesystem::path root_dir, package_listener heard) {
    return offer_in(std::move(root_dir), [servers = std::move(servers), heard = std::move(heard)](
                                             detail::session& session, detail::generated_place const& place) {
        for (auto const& server : servers)
            session.services().get<detail::tool_service>()->offered().offer(server, place, heard);
    });
}

IPYBOX_DECL result<void> executor_base::offer_mcp_sources(std::shared_ptr<detail::server_source> source,
                                                          std::filesystem::path root_dir, package_listener heard) {
    return offer_in(std::move(root_dir), [source = std::move(source), heard = std::move(heard)](
                                             detail::session& session, detail::generated_place const& place) {
        session.services().get<detail::tool_service>()->offer(source, place, heard);
    });
}

IPYBOX_DECL void executor_base::begin_mcp_sources() {
    session_->post(
        [](detail::session& session) { session.services().get<detail::tool_service>()->offered().begin_all(); });
}

IPYBOX_DECL void executor_base::submit_generation(session_ptr const& s, std::string server,
                                                  std::filesystem::path root_dir, generate_how how,
                                                  detail::completion<result<codegen::generated_sources>> done) {
    std::error_code gone; // it is made on another thread, by when another directory may be the current one
    if (auto whole = std::filesystem::absolute(root_dir, gone); !gone) root_dir = std::move(whole);
    auto options = detail::options_for(server, how ? *how : codegen::generate_options(), *s);
    using list = std::vector<mcp::tool>;
    auto const make = [weak = std::weak_ptr(s), server, root_dir = std::move(root_dir),
                       options = std::move(options)](detail::session& session, auto const& call) {
        auto const listed = [=](result<list> tools) {
            auto const handle = weak.lock();
            if (!handle || !tools) return call->fail(handle ? tools.error() : error(errc::not_running, ""));
            auto const those = std::make_shared<list>(std::move(*tools));
            handle->aside(call, [=] {
                if (auto const open = weak.lock())
                    call->complete(detail::generate_package(*open, server, *those, root_dir, options));
            });
        };
        auto const listing = std::make_shared<detail::pending_result<list>>(
            detail::completion<result<list>>(detail::called_in_place{listed}));
        detail::list_tools(session, server, listing);
    };
    s->ask(std::move(done), make);
}

IPYBOX_DECL result<codegen::generated_sources> executor_base::generate_mcp_sources(std::string server,
                                                                                   std::filesystem::path root_dir) {
    return generate_mcp_sources(std::move(server), std::move(root_dir), codegen::generate_options());
}

} // namespace ipybox
