#pragma once

#include <ipybox/adapters/code_tool.hpp>

#include <string>
#include <utility>

namespace ipybox::detail {

/// A code_tool that is offered in the form of one API. A base class.
class code_tool_adapter {
  public:
    explicit code_tool_adapter(code_tool tool) : tool_(std::move(tool)) {}

    /// The name by which the model calls it.
    [[nodiscard]] std::string const& name() const noexcept { return tool_.name(); }

  protected:
    [[nodiscard]] code_tool const& tool() const noexcept { return tool_; }

  private:
    code_tool tool_;
};

} // namespace ipybox::detail
