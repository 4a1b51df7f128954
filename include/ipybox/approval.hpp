#pragma once

/** \file
 * Approvals: requests, decisions, policies, rules, grants, the gate and its audit log.
 */

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/approval/approval_request.hpp>
#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/callback_approval.hpp>
#include <ipybox/approval/decision.hpp>
#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/approval/stream_reader_approval.hpp>
#include <ipybox/approval/verdict.hpp>
#include <ipybox/gate/approval_gate.hpp>
#include <ipybox/gate/approval_settings.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/grants.hpp>
#include <ipybox/rules/matched_rule.hpp>

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/approval.ipp>
#endif
