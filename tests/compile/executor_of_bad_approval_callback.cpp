// expect: an approval callback takes an approval_request and returns decision, asio::awaitable<decision> or void

#include <ipybox/basic_executor.hpp>

#include <string>

ipybox::basic_executor mistake{{}, [](std::string const& tool) { return tool == "read"; }};
