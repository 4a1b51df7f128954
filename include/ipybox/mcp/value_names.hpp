#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/error.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace ipybox::mcp::detail {

/**
 * \brief The values that a server is started with, and the names that stand for them in texts which others than the
 * host get to read.
 */
class value_names {
  public:
    /// Shorter values stay as they are: `1` and `on` stand everywhere.
    static constexpr std::size_t shortest = 4;

    /// `${name}` stands for a value.
    void add(std::string const& name, std::string const& value);

    /// The same for each variable.
    void add(environment const& variables);

    /// A text with the names in the place of the values.
    [[nodiscard]] std::string put_into(std::string_view text) const;

    /**
     * \brief An error whose first line is for everyone: with names in the place of values, and the first line that the
     * server said.
     * \details What stands below that is for the host alone: the line as it was, if it had values, and all that the
     * server said.
     */
    [[nodiscard]] error in_public(error const& why) const;

  private:
    std::map<std::string, std::string> names_; ///< by the values
};

/// Between the text of an error and what the server said.
inline constexpr std::string_view it_said = "\nit said:\n";

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/value_names.ipp>
#endif
