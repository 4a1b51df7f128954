#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/services/network_service.hpp>
#include <ipybox/session/acting_cell.hpp>
#include <ipybox/session/seen_messages.hpp>
#include <ipybox/session/session_services.hpp>
#include <ipybox/session/session_settings.hpp>

#include <support/catch.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::detail;

/// The calls that the services of a test got, in order.
std::string& heard() {
    static std::string text;
    return text;
}

/// A service that writes down its calls.
class telling_service : public session_service {
  public:
    explicit telling_service(std::string name) : name_(std::move(name)) {}

    [[nodiscard]] bool offers(feature what) const noexcept override { return what == feature::packages; }
    [[nodiscard]] result<void> prepare(kernel_launch&) override { return tell("prepare"); }
    void serve(running_kernel const&) override { (void)tell("serve"); }
    void close() override { (void)tell("close"); }
    void begin_cell(std::shared_ptr<acting_cell const> const& cell) override { (void)tell("begin " + cell->id); }
    void end_cell() override { (void)tell("end"); }
    [[nodiscard]] asio::awaitable<void> stop() override {
        (void)tell("stop");
        co_return;
    }
    void abandon() override { (void)tell("abandon"); }

  protected:
    result<void> tell(std::string const& what) {
        heard() += name_ + " " + what + ";";
        return {};
    }

  private:
    std::string name_;
};

class lower_service final : public telling_service {
  public:
    lower_service() : telling_service("lower") {}
    [[nodiscard]] static std::shared_ptr<lower_service> make(session_services&) {
        return std::make_shared<lower_service>();
    }
};

/// One that needs another, and closes a directory.
class upper_service final : public telling_service {
  public:
    explicit upper_service(std::shared_ptr<lower_service> needed)
        : telling_service("upper"), lower(std::move(needed)) {}
    [[nodiscard]] static std::shared_ptr<upper_service> make(session_services& session) {
        return std::make_shared<upper_service>(session.get<lower_service>());
    }
    [[nodiscard]] std::shared_ptr<sandbox_demand const> demand() const override {
        struct closed_directory final : sandbox_demand {
            void add_to(supervisor_options& options) const override { options.read_only.emplace_back("/closed"); }
            void list(std::vector<protection_wish>& paths) const override { paths.push_back({"/closed", "upper"}); }
        };
        return std::make_shared<closed_directory>();
    }
    std::shared_ptr<lower_service> const lower;
};

/// The services of a session that has nothing else.
struct bare_session {
    explicit bare_session(executor_options options = {}, any_approval policy = {})
        : services(std::make_shared<session_services>(
              context.get_executor(), std::make_shared<session_settings>(std::move(options), os::host_programs::now()),
              std::make_shared<any_approval const>(std::move(policy)),
              std::make_shared<seen_messages>(context.get_executor()))) {
        heard().clear();
    }

    asio::io_context context;
    std::shared_ptr<session_services> services;
};

} // namespace

TEST_CASE("session_services: a service that is needed is made first, and told first") {
    bare_session session;
    auto const upper = session.services->get<upper_service>();
    CHECK(session.services->get<lower_service>() == upper->lower);
    CHECK(session.services->get<upper_service>() == upper);
    kernel_launch launch;
    CHECK(session.services->prepare(launch));
    session.services->serve({});
    session.services->begin_cell(std::make_shared<acting_cell const>(acting_cell{.id = "c"}));
    session.services->end_cell();
    session.services->close();
    CHECK(heard() == "lower prepare;upper prepare;lower serve;upper serve;lower begin c;upper begin c;lower end;upper "
                     "end;lower close;upper close;");
}

TEST_CASE("session_services: their ends are waited for one after the other") {
    bare_session session;
    (void)session.services->get<upper_service>();
    asio::co_spawn(session.context, session_services::stop(session.services), asio::detached);
    asio::co_spawn(session.context, session_services::end(session.services), asio::detached);
    session.context.run();
    CHECK(heard() == "lower stop;upper stop;");
}

TEST_CASE("session_services: demands on the sandbox outlive the session") {
    std::shared_ptr<sandbox_demands> demands;
    {
        bare_session session;
        demands = session.services->demands();
        supervisor_options options;
        demands->add_to(options);
        CHECK(options.read_only.empty());
        (void)session.services->get<upper_service>(); // known from now on
    }
    supervisor_options options;
    demands->add_to(options);
    CHECK(options.read_only == std::vector<std::filesystem::path>{"/closed"});
    std::vector<protection_wish> paths;
    demands->list(paths);
    REQUIRE(paths.size() == 1);
    CHECK(paths[0].server == "upper");
}

TEST_CASE("session_services: one that is made behind the end ends at once") {
    bare_session session;
    session.services->abandon();
    (void)session.services->get<lower_service>();
    CHECK(heard() == "lower abandon;");
}

TEST_CASE("session_services: those that the program has are made, and no others once they are gone") {
    bare_session session;
    {
        offered_service const offered{make_service<upper_service>};
        session.services->make_offered();
        session.services->make_offered();
        auto const all = offered_service::all();
        CHECK(std::ranges::count(all, &make_service<upper_service>) == 1);
    }
    CHECK(session.services->offers(session_service::feature::packages));
    auto const all = offered_service::all();
    CHECK(std::ranges::count(all, &make_service<upper_service>) == 0);
}

TEST_CASE("session_services: options and policies that need a service which is missing are told with its header") {
    auto const error_of = [](executor_options options, any_approval policy = {}) {
        bare_session const session(std::move(options), std::move(policy));
        (void)session.services->get<network_service>(); // asks for hosts, and brings approvals along, but no actions
        auto const said = session.services->do_what_options_say();
        return said ? std::string() : said.error().text();
    };
    auto const include = [](std::string const& what, std::string const& header) {
        return what + " needs <ipybox/" + header + ">: include it in a source file of the program";
    };
    CHECK(error_of({}).empty());
    CHECK(error_of({}, deny_approval()) == include("an approval policy", "approval.hpp"));
    CHECK(error_of({.approval = {.shell_cmds = true}}) == include("approval.shell_cmds", "approval.hpp"));
    CHECK(error_of({.approval = {.calls_per_cell = 1}}) == include("approval.calls_per_cell", "approval.hpp"));
    CHECK(error_of({.mcp = {.options = std::make_shared<mcp::registry_options const>()}}) ==
          include("mcp.options", "mcp.hpp"));
}
