#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/rules/grant.hpp>

#include <nlohmann/json.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL decision decision::accept() {
    decision made;
    made.accepted_ = true;
    return made;
}

IPYBOX_DECL decision decision::accept(nlohmann::ordered_json edited_arguments) {
    auto made = accept();
    made.edited_ = std::make_shared<nlohmann::ordered_json const>(std::move(edited_arguments));
    return made;
}

IPYBOX_DECL decision decision::reject(std::string reason, when_repeated again) {
    decision made;
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
