#pragma once

#include <ipybox/approval/decision.hpp>

#include <nlohmann/json.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL decision decision::accept() { return decision(verdict::accept); }

IPYBOX_DECL decision decision::accept(nlohmann::json edited_arguments) {
    decision made(verdict::accept);
    made.edited_ = std::make_shared<nlohmann::json const>(std::move(edited_arguments));
    return made;
}

IPYBOX_DECL decision decision::reject(std::string reason) {
    decision made(verdict::reject);
    made.reason_ = reason.empty() ? "rejected" : std::move(reason);
    return made;
}

} // namespace ipybox
