#pragma once

#include <ours/child_program.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// An MCP server with a tool `echo` behind nothing but its pipes: what is left is its own time.
class bare_server {
  public:
    /// Starts it and agrees with it on a version.
    explicit bare_server(std::vector<std::string> command);

    /// Milliseconds of a call of `echo` with so many characters, one after the other.
    [[nodiscard]] double call(std::size_t characters);

    /// Of so many calls.
    [[nodiscard]] std::vector<double> calls(std::size_t characters, int count);

  private:
    child_program program_;
};

} // namespace bench
