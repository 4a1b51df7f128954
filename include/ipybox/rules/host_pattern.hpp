#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/wildcard.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ipybox {

namespace detail {

class strict_object;

} // namespace detail

/**
 * \brief Connections to hosts, as rules and grants describe them.
 * \details The wildcard is compared with the whole host, in lower case and without a dot at its end: `*.example.org` is
 * what is below it, and not itself.
 */
struct host_pattern {
    wildcard host = {};
    std::optional<std::uint16_t> port = {}; ///< every port, where there is none

    /// A pattern as people write it: case and a dot at the end do not count.
    [[nodiscard]] static host_pattern named(std::string_view pattern, std::optional<std::uint16_t> port = {});

    [[nodiscard]] bool covers(approval_subject const& subject) const;
};

namespace detail {

/// The member `port`; none where it is missing or wrong, which the reader knows then.
[[nodiscard]] std::optional<std::uint16_t> port_from(strict_object& object);

/// The members `host` (where it is missing: every host) and `port`.
[[nodiscard]] host_pattern host_pattern_from(strict_object& object);

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/host_pattern.ipp>
#endif
