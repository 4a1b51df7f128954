#pragma once

#include <ipybox/services/generated_places.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL void generated_places::remember(std::string const& package, generated_place place) {
    std::vector<generated_place> unneeded; // a filter is the application's
    std::scoped_lock const lock(mutex_);
    auto& places = places_[package];
    auto const same = std::ranges::partition(places, [&](auto const& p) { return p.root_dir != place.root_dir; });
    unneeded.assign(std::move_iterator(same.begin()), std::move_iterator(same.end()));
    places.erase(same.begin(), same.end());
    places.push_back(std::move(place));
}

IPYBOX_DECL std::vector<generated_place> generated_places::of(std::string const& package) const {
    std::scoped_lock const lock(mutex_);
    auto const found = places_.find(package);
    return found == places_.end() ? std::vector<generated_place>() : found->second;
}

} // namespace ipybox::detail
