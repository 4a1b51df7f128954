#include <ipybox/core/sha256.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>
#include <ipybox/version.hpp>

#include <cstdio>

int main() {
    auto const config =
        ipybox::sandbox_config::parse(R"({"network": {"allowedDomains": ["example.com"]}})", "a configuration");
    std::printf("ipybox %s: %s\n", ipybox::version::text, ipybox::sha256_hex("abc").c_str());
    return config ? 0 : 1;
}
