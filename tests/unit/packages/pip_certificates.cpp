#include <ipybox/packages/pip_certificates.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <cstdlib>
#include <string>

using namespace ipybox;
using detail::certificates_in;
using detail::pip_certificates;

TEST_CASE("pip_certificates: what a pip.conf names") {
    CHECK(certificates_in("[global]\ncert = /etc/ca.pem\n") == "/etc/ca.pem");
    CHECK(certificates_in("# cert = /no\n[global]\r\ncert: /a b.pem \r\n[install]\ncert=/c.pem") == "/c.pem");
    CHECK(certificates_in("[list]\ncert = /no\n").empty());
    CHECK(certificates_in("[global]\nclient-cert = /no\nproxy = http://p").empty());
    CHECK(certificates_in("").empty());
    CHECK(certificates_in("[\n=\n[install").empty());
}

TEST_CASE("pip_certificates: what is named, then variables, then files") {
    test::scratch_dir const dir;
    auto const named = dir.write("named.pem", "x");
    auto const other = dir.write("other.pem", "x");
    auto const config = dir.write("pip.conf", "[global]\ncert = " + other.string() + "\n");
    ::setenv("PIP_CONFIG_FILE", config.c_str(), 1);
    for (auto const* const name : {"PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"})
        ::unsetenv(name);
    CHECK(pip_certificates({}) == other);
    ::setenv("SSL_CERT_FILE", "/no/such.pem", 1);
    CHECK(pip_certificates({}) == other);
    ::setenv("SSL_CERT_FILE", named.c_str(), 1);
    CHECK(pip_certificates({}) == named);
    CHECK(pip_certificates(other) == other);
    auto const missing = pip_certificates("/no/such.pem");
    REQUIRE_FALSE(missing);
    CHECK(missing.error() == errc::invalid_argument);
    ::unsetenv("SSL_CERT_FILE");
    ::unsetenv("PIP_CONFIG_FILE");
}
