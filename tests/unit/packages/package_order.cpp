#include <ipybox/packages/package_order.hpp>

#include <support/catch.hpp>

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
    CHECK(read_package_order(words{}).error() == errc::invalid_argument);
    CHECK(read_package_order(words{"-q"}).error() == errc::invalid_argument);
}
