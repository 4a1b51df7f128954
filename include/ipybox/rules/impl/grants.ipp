#pragma once

#include <ipybox/rules/grants.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL bool grants::entry::covers(approval_subject const& subject) const {
    if (what.for_one_cell() && (cell_id.empty() || cell_id != subject.cell_id)) return false;
    return what.covers(subject);
}

IPYBOX_DECL std::uint64_t grants::add(grant given, clock::time_point now, std::string_view cell_id) {
    std::scoped_lock const lock(*mutex_);
    std::erase_if(given_, [now](entry const& old) { return !old.alive(now); });
    auto const until = given.lifetime() ? now + *given.lifetime() : clock::time_point::max();
    auto const left = given.uses();
    given_.push_back({++last_, std::move(given), left, until, std::string(cell_id)});
    return last_;
}

IPYBOX_DECL std::optional<std::uint64_t> grants::use(approval_subject const& subject, clock::time_point now) {
    std::scoped_lock const lock(*mutex_);
    entry* counted = nullptr;
    for (auto& e : given_) {
        if (!e.alive(now) || (e.left && counted) || !e.covers(subject)) continue;
        if (!e.left) return e.number;
        counted = &e;
    }
    if (!counted) return std::nullopt;
    --*counted->left;
    return counted->number;
}

IPYBOX_DECL void grants::use(std::uint64_t number, approval_subject const& subject, clock::time_point now) {
    std::scoped_lock const lock(*mutex_);
    for (auto& e : given_) {
        if (e.number == number && e.left && e.alive(now) && e.covers(subject)) --*e.left;
    }
}

IPYBOX_DECL bool grants::revoke(std::uint64_t number) {
    std::scoped_lock const lock(*mutex_);
    return std::erase_if(given_, [number](entry const& e) { return e.number == number; }) > 0;
}

IPYBOX_DECL void grants::clear() {
    std::scoped_lock const lock(*mutex_);
    given_.clear();
}

IPYBOX_DECL void grants::forget_server(std::string_view name) {
    std::scoped_lock const lock(*mutex_);
    std::erase_if(given_, [name](entry const& e) { return e.what.is_about_server(name); });
}

IPYBOX_DECL void grants::end_cell(std::string_view cell_id) {
    std::scoped_lock const lock(*mutex_);
    std::erase_if(given_, [cell_id](entry const& e) { return e.what.for_one_cell() && e.cell_id == cell_id; });
}

IPYBOX_DECL std::size_t grants::size(clock::time_point now) const {
    std::scoped_lock const lock(*mutex_);
    auto const alive = [now](entry const& e) { return e.alive(now); };
    return static_cast<std::size_t>(std::count_if(given_.begin(), given_.end(), alive));
}

IPYBOX_DECL std::vector<grant::active> grants::list(clock::time_point now) const {
    std::scoped_lock const lock(*mutex_);
    std::vector<grant::active> listed;
    for (auto const& e : given_) {
        if (!e.alive(now)) continue;
        auto const until = e.until == clock::time_point::max() ? std::nullopt : std::optional(e.until);
        listed.push_back({e.number, e.what, e.left, until, e.cell_id});
    }
    return listed;
}

} // namespace ipybox::detail
