// prints: network connection example.com port 80 by http
// prints: the connection to example.com:80 is rejected: not today
// prints: the connection to bad.example.org:80 is rejected: the sandbox's configuration denies it (deniedDomains)

#include <ipybox/ipybox.hpp>

#include <iostream>

int main() {
    //! [hosts]
    auto config = ipybox::sandbox_config::parse(R"({"network": {
        "allowedDomains": ["pypi.org", "*.example.org:443"],
        "deniedDomains": ["bad.example.org"]
    }})");
    if (!config) {
        std::cerr << config.error() << '\n';
        return 1;
    }
    // Hosts of neither list are asked for.
    auto const decide = [](ipybox::approval_request const& request) {
        std::cout << ipybox::safe_text::of(*request.subject()).text() << '\n';
        if (request.subject()->host.ends_with(".python.org"))
            request.accept_and_grant(ipybox::grant::this_host(*request.subject()));
        else
            request.reject("not today");
    };
    ipybox::executor box({}, decide, ipybox::bubblewrap_sandbox(*config));
    //! [hosts]

    auto const result = box.execute(R"(
import urllib.error, urllib.request

for host in ("example.com", "bad.example.org"):
    try:
        urllib.request.urlopen(f"http://{host}/")
    except urllib.error.HTTPError as error:
        print(error.read().decode().strip())
)");
    if (!result) std::cerr << result.error() << '\n';
    if (result) std::cout << result->text << '\n';
    return result ? 0 : 1;
}
