#pragma once

#include <ipybox/jupyter/message.hpp>

#include <string>

namespace ipybox::detail {

struct execution;

/**
 * \brief The `execute_request` of an execution (Jupyter messaging, "Execute"), whose code or expression is spent.
 * \details The request for a value alone is an expression without code. It is silent: neither IPython nor its numbers
 * of cells count it.
 */
[[nodiscard]] jupyter::message to_execute_request(execution& e, std::string const& id);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/execute_request.ipp>
#endif
