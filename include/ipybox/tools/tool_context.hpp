#pragma once

#include <ipybox/core/config.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace ipybox {
namespace detail {

class host_call;

} // namespace detail

/**
 * \brief A call, as the function that serves it sees it: whether it is still wanted, and where it reports how far it
 * has come.
 * \details A function that has a `tool_context` behind its other parameters is given one. It may be copied and kept.
 * \par Thread safety Safe.
 */
class tool_context {
  public:
    /// Made by the library.
    explicit tool_context(std::shared_ptr<detail::host_call> call) noexcept;

    /// Stops when the answer is not waited for any more: the cell was cancelled or has ended, the code gave up, the
    /// session has ended.
    [[nodiscard]] std::stop_token stop_token() const noexcept;
    /// Whether nothing waits for the answer any more.
    [[nodiscard]] bool stop_requested() const noexcept { return stop_token().stop_requested(); }

    /**
     * \brief Reports how far the call has come.
     * \details Code hears of it within `mcptools.progress(…)`; elsewhere nothing is sent. Of reports in quick
     * succession the last one counts.
     * \param done  grows with each report. Numbers that are not finite count as left out
     * \param total the value of `done` at the end, if it is known
     * \param message for people
     */
    void progress(double done, std::optional<double> total = {}, std::optional<std::string> message = {}) const;

  private:
    std::shared_ptr<detail::host_call> call_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_context.ipp>
#endif
