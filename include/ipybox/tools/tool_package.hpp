#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/tool_provider.hpp>
#include <ipybox/tools/tool_places.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {

class host_tool;

} // namespace ipybox

namespace ipybox::detail {

class host_call;

/**
 * \brief Host tools under one name, and their calls.
 * \details A function may run on when it is not waited for any more, and may never end: the parts of this that it needs
 * are shared with it.
 * \par Thread safety Safe.
 */
class tool_package final : public mcp::tool_provider, public std::enable_shared_from_this<tool_package> {
  public:
    /// Calls are asked for and completed on the session's executor.
    tool_package(std::string name, tool_places places);

    using tool_ptr = std::shared_ptr<host_tool const>;

    /// Adds tools, all or none. \par Errors errc::invalid_argument — there is a tool of that name; `host_tool::check`
    [[nodiscard]] result<void> add(std::vector<host_tool> tools);

    /// The same for a caller that holds a lock: tools that are refused are the caller's to let go of.
    [[nodiscard]] result<void> add(std::vector<tool_ptr> const& tools);

    [[nodiscard]] static std::vector<tool_ptr> shared(std::vector<host_tool> tools);

    /// Forgets a tool; its calls end. \return whether there was one
    bool remove(std::string const& name);

    [[nodiscard]] std::vector<mcp::tool> tools() const override;
    [[nodiscard]] std::optional<detail::tool_annotations> annotations(std::string const& tool) const override;
    asio::awaitable<result<mcp::call_result>> call(std::string tool, mcp::raw_json arguments,
                                                   mcp::call_options options) override;
    void end() override;

  private:
    /// A call that is under way, and the tool that it is of.
    struct under_way {
        tool_ptr tool;
        std::weak_ptr<host_call> call;
    };

    [[nodiscard]] tool_ptr find(std::string const& name) const;
    [[nodiscard]] bool keep(tool_ptr const& tool, std::shared_ptr<host_call> const& call);
    void begin(tool_ptr const& tool, std::shared_ptr<host_call> call, mcp::raw_json arguments);
    void end_calls(std::vector<under_way> calls, std::string const& why);

    std::string const name_;
    tool_places const places_;
    mutable std::mutex mutex_;
    std::vector<tool_ptr> tools_; ///< in the order in which they were added
    std::vector<under_way> calls_;
    std::size_t sweep_at_ = 64; ///< when calls that have ended are taken out
    bool ended_ = false;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_package.ipp>
#endif
