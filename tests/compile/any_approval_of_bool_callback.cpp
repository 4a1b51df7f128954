// expect: an approval is a callback that takes an approval_request and returns decision, asio::awaitable<decision> or void

#include <ipybox/approval/any_approval.hpp>

ipybox::any_approval mistake = [](ipybox::approval_request const& request) { return request.tool() == "read"; };
