#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/grant.hpp>

#include <nlohmann/json.hpp>

#include <optional>
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

IPYBOX_DECL decision decision::accept_commands() {
    auto made = accept();
    made.by_commands_ = true;
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

IPYBOX_DECL result<decision::line> decision::from_json(std::string_view text) {
    auto const value = detail::parse_strictly(text, "decision");
    if (!value) return failure(value.error());
    detail::strict_object reader(*value, "decision");
    auto const id = reader.count("id");
    if (!id) reader.fail("id", "the number of a request is wanted");
    auto const word = reader.text("decision").value_or("");
    bool const accepts = word == "accept";
    if (!accepts && word != "reject") reader.fail("decision", "\"accept\" or \"reject\" is wanted");

    auto const* arguments = reader.find("arguments");
    auto const* granted = reader.find("grant");
    auto reason = reader.text("reason");
    if (arguments && !accepts) reader.fail("arguments", "a rejection has none");
    if (arguments && !arguments->is_object()) reader.fail("arguments", "an object is wanted");
    if (granted && !accepts) reader.fail("grant", "a rejection grants nothing");
    if (reason && accepts) reader.fail("reason", "only a rejection has one");
    if (auto finished = reader.finish(); !finished) return failure(finished);

    if (!accepts) return decision::line{*id, decision::reject(std::move(reason).value_or(""))};
    // Parsed once more, for the order of its members.
    auto made = arguments ? decision::accept(nlohmann::ordered_json::parse(text).at("arguments")) : decision::accept();
    if (granted) {
        auto given = grant::from_json(*granted, "decision/grant");
        if (!given) return failure(given);
        made = made.and_grant(std::move(*given));
    }
    return decision::line{*id, std::move(made)};
}

} // namespace ipybox
