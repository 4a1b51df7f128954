#pragma once

/** \file
 * Transports, and what their authors need.
 */

#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/transport/socketpair_transport.hpp>
#include <ipybox/transport/transport.hpp>

#ifdef IPYBOX_ZMQ
#include <ipybox/transport/zmq_transport.hpp>
#endif
