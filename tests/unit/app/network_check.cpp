#include <ipybox/app/impl/network_check.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

using namespace ipybox;
using test::contains;

TEST_CASE("network_check: where a name leads decides") {
    auto const judged = [](std::string_view address) {
        return detail::judge_addresses("index.test",
                                       std::vector<asio::ip::address>{asio::ip::make_address(std::string(address))});
    };
    CHECK(judged("8.8.8.8").state == finding_state::works);
    CHECK(judged("8.8.8.8").note == "packages come from index.test");
    for (auto const* const address : {"10.1.2.3", "127.0.0.1", "fd00::1", "64:ff9b::a01:203"}) {
        auto const found = judged(address);
        CHECK(found.state == finding_state::fails);
        CHECK_FALSE(found.needed);
        CHECK(contains(found.gap, std::string("index.test leads to ") + address + ", an address that is not public"));
        CHECK(contains(found.remedy, std::string("--allow-address ") + address));
    }
    auto const unknown = detail::judge_addresses("index.test", failure(errc::io_error, "index.test is not found"));
    CHECK(unknown.state == finding_state::fails);
    CHECK(unknown.gap == "index.test is not found");
    CHECK(detail::host_in("https://index.test:8080/simple") == "index.test");
}
