#pragma once

#include <ipybox/core/config.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace ipybox {

/**
 * \brief The code asks for a line of input (`input()`, `getpass()`).
 * \details A handle whose copies share one answer: the first `reply` or `refuse` counts. When the last copy goes
 * without an answer, that is a refusal. Refused input raises EOFError in the code.
 * \par Thread safety Safe.
 */
class input_request {
  public:
    /// Answers input requests. Called on the executor's strand: it must not block, but may keep the request and reply
    /// later from any thread.
    using handler = std::function<void(input_request)>;

    /// Receives the answer; an empty pointer is a refusal.
    using answer_function = std::function<void(std::unique_ptr<std::string>)>;

    /// Made by the library.
    input_request(std::string prompt, bool password, answer_function answer);

    /// The text that the code shows before it reads.
    [[nodiscard]] std::string const& prompt() const noexcept;

    /// The typed text should not be shown.
    [[nodiscard]] bool password() const noexcept;

    /// The longest line that a kernel is sent; a longer one is a refusal.
    static constexpr std::size_t longest_line = std::size_t(32) << 20;

    /// Gives the code this line, without a line end.
    void reply(std::string line) const;
    /// Raises `EOFError` in the code.
    void refuse() const;

  private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/execution/impl/input_request.ipp>
#endif
