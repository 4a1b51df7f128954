#include <ipybox/packages/package_order.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <map>
#include <string>
#include <vector>

namespace {

using ipybox::errc;
using ipybox::detail::read_package_order;
using words = std::vector<std::string>;

} // namespace

TEST_CASE("package order: names, versions, extras, markers and harmless options") {
    auto const order = read_package_order(
        words{"-q", "numpy", "pandas>=2,<3", "uvicorn[standard]==0.30", "tomli; python_version < '3.11'"});
    for (auto const* word : {"a", "zope.interface", "x[a, b] >= 1.0, != 1.5.*", "x (>=1)", "x==1!2.0.post1+local",
                             "x ~= v2", "x===2.0", "x[]", "A_b-c"})
        CHECK(read_package_order(words{word}));
    for (auto const* word : {"x-", "x[", "x[a", "x(>=1", "x=>", "x >= 1 2", "x,y", "-x", "x>=1,,<2", "x====1"})
        CHECK_FALSE(read_package_order(words{word}));
    REQUIRE(order);
    CHECK(order->options == words{"-q"});
    CHECK(order->requirements ==
          words{"numpy", "pandas>=2,<3", "uvicorn[standard]==0.30", "tomli; python_version < '3.11'"});
}

TEST_CASE("package order: what pip would read for the code, or install elsewhere, is refused") {
    for (auto const* word : {"./x.whl",
                             "/etc/passwd",
                             "../x",
                             "git+https://example.org/x",
                             "https://example.org/x.whl",
                             "x @ file:///etc/passwd",
                             "file:x",
                             "dir/x",
                             "-r",
                             "-rrequirements.txt",
                             "--requirement=x",
                             "-e",
                             "--target=/tmp",
                             "--index-url=http://x",
                             "--no-binary",
                             "--python=/x",
                             "--prefix",
                             "-t",
                             "",
                             "x\ny",
                             "--",
                             "${HOME}",
                             "\xc3\xa4"}) {
        INFO(word);
        auto const order = read_package_order(words{"numpy", word});
        REQUIRE_FALSE(order);
        CHECK(order.error() == errc::invalid_argument);
    }
    for (auto const& [word, told] :
         std::map<std::string, std::string>{{"numpy pandas", "one package at a time"},
                                            {"numpy==latest", "a version begins with a digit"},
                                            {"numpy<>2", "does not name a package"},
                                            {"numpy==", "a digit"}}) {
        CAPTURE(word);
        auto const order = read_package_order(words{word});
        REQUIRE_FALSE(order);
        CHECK(ipybox::test::contains(order.error().text(), told));
    }
    CHECK(read_package_order(words{}).error() == errc::invalid_argument);
    CHECK(read_package_order(words{"-q"}).error() == errc::invalid_argument);
}
