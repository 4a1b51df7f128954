#include <ipybox/execution/execution_result.hpp>

#include <ours/context.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <stdexcept>

namespace bench {
namespace {

std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

} // namespace

bool context::wants(std::string const& name) const {
    return std::ranges::any_of(patterns, [&](auto const& p) { return ::fnmatch(p.c_str(), name.c_str(), 0) == 0; });
}

ipybox::executor context::started_executor(ipybox::any_approval approval) const {
    auto box = new_executor(std::move(approval));
    require(box.start());
    return box;
}

void require(ipybox::result<void> const& done) {
    if (!done) throw std::runtime_error(first_line(done.error().text()));
}

ipybox::execution_result require(ipybox::result<ipybox::execution_result> done) {
    if (!done) throw std::runtime_error(first_line(done.error().text()));
    return std::move(*done);
}

std::string outcome(ipybox::result<ipybox::execution_result> const& done) {
    return done ? "ok" : first_line(done.error().text());
}

} // namespace bench
