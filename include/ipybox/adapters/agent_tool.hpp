#pragma once

#include <ipybox/adapters/code_tool.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/json_text.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>

namespace ipybox {

/// A tool as agent libraries for C++ have it: `agent_tool` implements this, or the library's own class.
struct agent_tool_interface {
    /// The name and the description of a tool.
    struct definition {
        /// The name that the model calls.
        std::string name;
        /// The text that tells the model when and how to call it.
        std::string description;
        std::string parameters; ///< JSON schema
    };

    virtual ~agent_tool_interface() = default;
    /// The definition that the model is shown.
    [[nodiscard]] virtual definition get_definition() const = 0;
    /// The name that the model calls.
    [[nodiscard]] virtual std::string get_name() const = 0;
    /// Runs a call of the model, and returns the answer that it reads.
    [[nodiscard]] virtual std::string execute(nlohmann::json const& arguments) = 0;
};

/**
 * \brief An executor as a `Tool` of a C++ agent library: `get_definition()`, `get_name()`, `execute(json)`.
 * \details With the library's class as a parameter, `agent_tool<agent_cpp::Tool>` derives from it and can be handed to
 * its agents.
 * \tparam Tool agent_tool_interface, or a class with virtual functions like those
 * \par Thread safety and object lifetimes as code_tool
 */
template <class Tool = agent_tool_interface>
class agent_tool final : public Tool {
  public:
    /// The type that `get_definition()` of the base returns.
    using definition_type = decltype(std::declval<Tool const&>().get_definition());

    /// Puts the spelling of the base around a tool.
    explicit agent_tool(code_tool tool) : tool_(std::move(tool)) {}

    /// The definition that the model is shown.
    [[nodiscard]] definition_type get_definition() const override {
        return {tool_.name(), tool_.description(), json_text(tool_.parameters())};
    }

    /// The name that the model calls.
    [[nodiscard]] std::string get_name() const override { return tool_.name(); }

    /// Runs code. \return what it printed, or what went wrong. Throws nothing.
    [[nodiscard]] std::string execute(nlohmann::json const& arguments) override {
        return text_for_model(tool_.run(arguments));
    }

  private:
    code_tool tool_;
};

/// The executor as a tool of an agent library: `agent.add(as_agent_tool<agent_cpp::Tool>(box))`. The executor must
/// outlive the tool.
template <class Tool = agent_tool_interface>
[[nodiscard]] std::unique_ptr<agent_tool<Tool>> as_agent_tool(executor_base& box, code_tool_options options = {}) {
    return std::make_unique<agent_tool<Tool>>(code_tool(box, std::move(options)));
}

} // namespace ipybox
