#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace ipybox::test {

/// For checks that print both texts when they fail.
struct contains {
    contains(std::string_view whole, std::string_view wanted)
        : text(whole), part(wanted), found(whole.find(wanted) != std::string_view::npos) {}
    explicit operator bool() const noexcept { return found; }
    bool operator!() const noexcept { return !found; }

    std::string text;
    std::string part;
    bool found;
};

inline std::ostream& operator<<(std::ostream& out, contains const& c) {
    return out << '"' << c.text << "\" has \"" << c.part << '"';
}

} // namespace ipybox::test
