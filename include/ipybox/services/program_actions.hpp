#pragma once

#include <ipybox/core/result.hpp>

#include <asio/awaitable.hpp>

#include <memory>

namespace ipybox::detail {

class running_program;
struct program_run;
struct program_streams;

/// Runs programs that the supervisor is not to run, for it would do so in the sandbox.
class program_actions {
  public:
    program_actions() = default;
    program_actions(program_actions const&) = delete;
    program_actions& operator=(program_actions const&) = delete;
    virtual ~program_actions() = default;

    /// Whether it is one of these programs.
    [[nodiscard]] virtual bool takes(program_run const& wanted) const = 0;

    [[nodiscard]] virtual asio::awaitable<result<std::shared_ptr<running_program>>> run(program_run const& wanted,
                                                                                        program_streams streams) = 0;
};

} // namespace ipybox::detail
