#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {

class executor_base;

/// How a model sees an executor, and how much it gets to read. Members are given in this order.
struct code_tool_options {
    /// The name by which the model calls it.
    std::string name = "execute_python";

    /// The description for the model. Empty: a text about state, output and plots.
    std::string description = {};

    /// Bound on one call, without the time that approvals wait. None: no limit.
    std::optional<std::chrono::milliseconds> timeout = std::chrono::seconds(120);

    /// Bytes of text in one answer, tracebacks included. Beyond it the middle is left out.
    std::size_t max_text = 20'000;

    /// Images in one answer, and bytes of each. Of others the answer has the path of the file.
    std::size_t max_images = 4;
    /// Bytes of one image. Of a larger one the answer has the path.
    std::size_t max_image_bytes = std::size_t(2) << 20;
};

/// The answer to one call, for a model.
struct code_outcome {
    std::string code;      ///< that was to run; empty where the arguments had none
    bool failed = false;   ///< it raised, was stopped or rejected, or could not be run
    std::string text = {}; ///< what was printed and displayed, then what went wrong; empty: nothing was printed
    std::vector<std::string> images;                ///< PNG files: their bytes
    std::vector<std::filesystem::path> image_files; ///< where these lie: `executor_options::output.images_dir`
};

/**
 * \brief An executor as a tool of a language model: name, description, schema of the arguments, and a call that always
 * has an outcome.
 * \details The part that all spellings share: `openai_tool`, `mcp_tool` and `agent_tool` are thin shells around it.
 * \par Thread safety As the executor's: calls run one after the other.
 * \par Object lifetimes The executor must outlive it.
 */
class code_tool {
  public:
    /// The executor must outlive the tool.
    explicit code_tool(executor_base& box, code_tool_options options = {});

    /// The name that the model calls.
    [[nodiscard]] std::string const& name() const noexcept { return options_.name; }
    /// The text that tells the model when and how to call it.
    [[nodiscard]] std::string const& description() const noexcept { return options_.description; }

    /// JSON schema of the arguments: an object with the string `code`.
    [[nodiscard]] nlohmann::json parameters() const;

    /**
     * \brief Runs the code in the arguments and waits for it. Throws nothing.
     * \details Blocks as `executor_base::execute` does; on a thread that would have to serve the executor the outcome
     * says so. A kernel that has died is replaced for the next call only if `executor_options::kernel.restart_dead`
     * says so.
     * \param arguments as the model has written them; what does not fit the schema is an outcome that says so
     */
    [[nodiscard]] code_outcome run(nlohmann::json const& arguments) const noexcept;

  private:
    executor_base* box_;
    code_tool_options options_;
};

/// The text of an outcome with the paths of its images, for models that are given text alone; never empty.
[[nodiscard]] std::string text_for_model(code_outcome const& outcome);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/adapters/impl/code_tool.ipp>
#endif
