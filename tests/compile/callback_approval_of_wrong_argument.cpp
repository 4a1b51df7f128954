// expect: an approval callback takes an approval_request and returns decision, asio::awaitable<decision> or void

#include <ipybox/approval/callback_approval.hpp>

#include <string>

ipybox::callback_approval mistake{[](std::string const& command) {
    return command == "ls" ? ipybox::decision::accept() : ipybox::decision::reject();
}};
