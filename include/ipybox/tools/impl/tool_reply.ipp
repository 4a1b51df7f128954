#pragma once

#include <ipybox/tools/host_call.hpp>
#include <ipybox/tools/tool_reply.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL bool answer(host_call& call, tool_result answered) { return call.settle(std::move(answered).take()); }

IPYBOX_DECL check_budget& budget_of(host_call& call) { return call.budget; }

} // namespace ipybox::detail
