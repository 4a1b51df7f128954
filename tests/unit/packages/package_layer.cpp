#include <ipybox/packages/package_layer.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;

/// The hosts that pip may reach, or an error's code.
std::vector<std::string> hosts_of(std::string index) {
    package_layer::options options;
    options.index = std::move(index);
    auto const layer = package_layer::make(std::move(options));
    if (!layer) return {layer.error().code().message()};
    std::vector<std::string> hosts;
    for (auto const& host : (*layer)->get_options().network.allowed_domains) hosts.push_back(host.text());
    return hosts;
}

} // namespace

TEST_CASE("package layer: the hosts of its index are the ones that can be reached") {
    using texts = std::vector<std::string>;
    CHECK(hosts_of("https://pypi.org/simple") == texts{"pypi.org:443", "files.pythonhosted.org:443"});
    CHECK(hosts_of("https://me:a@b@mirror.example.org/simple/") == texts{"mirror.example.org:443"});
    CHECK(hosts_of("http://mirror.example.org:8080?x") == texts{"mirror.example.org:8080"});
    CHECK(hosts_of("https://[2001:db8::1]/simple") == texts{"[2001:db8::1]:443"});
    CHECK(hosts_of("").empty());
    auto const refused = texts{make_error_code(errc::invalid_argument).message()};
    for (auto const* index : {"file:///srv", "pypi.org", "https://", "https://a b/", "https:///simple"}) {
        INFO(index);
        CHECK(hosts_of(index) == refused);
    }
}

TEST_CASE("package layer: a private one goes with its last holder, a named one stays") {
    test::scratch_dir const dir;
    package_layer::options named;
    named.directory = dir.path() / "deep" / "layer";
    std::filesystem::path own;
    {
        auto const layer = package_layer::make();
        auto const kept = package_layer::make(named);
        REQUIRE(layer);
        REQUIRE(kept);
        own = (*layer)->path();
        CHECK(std::filesystem::is_directory(own));
        CHECK((*kept)->path() == std::filesystem::canonical(named.directory));
    }
    CHECK_FALSE(std::filesystem::exists(own));
    CHECK(std::filesystem::is_directory(named.directory));
}

TEST_CASE("package layer: a link does not lead to it") {
    test::scratch_dir const dir;
    std::filesystem::create_directories(dir.path() / "secrets");
    std::filesystem::create_directory_symlink(dir.path() / "secrets", dir.path() / "layer");
    package_layer::options linked;
    for (auto const* name : {"layer", "layer/", "./layer/."}) {
        INFO(name);
        linked.directory = dir.path() / name;
        auto const refused = package_layer::make(linked);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
    }
    auto const before = std::filesystem::current_path();
    std::filesystem::current_path(dir.path());
    linked.directory = "layer/within";
    auto const within = package_layer::make(linked);
    std::filesystem::current_path(before);
    CHECK_FALSE(within);
    CHECK(std::filesystem::is_empty(dir.path() / "secrets"));
}

TEST_CASE("package layer: it is in place until its directory is another one") {
    test::scratch_dir const dir;
    package_layer::options named;
    named.directory = dir.path() / "layer";
    auto const layer = package_layer::make(named);
    REQUIRE(layer);
    CHECK((*layer)->is_in_place());
    std::filesystem::rename(named.directory, dir.path() / "moved");
    CHECK_FALSE((*layer)->is_in_place());
    std::filesystem::create_directory_symlink(dir.path() / "moved", named.directory);
    CHECK_FALSE((*layer)->is_in_place());
}
