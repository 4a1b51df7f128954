#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/approval/grant.hpp>

#include <nlohmann/json.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL decision decision::accept() { return decision(verdict::accept); }

IPYBOX_DECL decision decision::accept(nlohmann::ordered_json edited_arguments) {
    decision made(verdict::accept);
    made.edited_ = std::make_shared<nlohmann::ordered_json const>(std::move(edited_arguments));
    return made;
}

IPYBOX_DECL decision decision::reject(std::string reason, when_repeated again) {
    decision made(verdict::reject);
    made.reason_ = reason.empty() ? "rejected" : std::move(reason);
    made.again_ = again;
    return made;
}

IPYBOX_DECL decision decision::and_grant(grant given) const {
    auto made = *this;
    if (accepted()) made.granted_ = std::make_shared<grant const>(std::move(given));
    return made;
}

} // namespace ipybox
