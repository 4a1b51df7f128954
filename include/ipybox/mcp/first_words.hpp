#pragma once

#include <ipybox/core/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ipybox::mcp::detail {

/**
 * \brief Watches the output of a server until its first message, for messages that are written in another way than one
 * on each line.
 * \details No I/O, no clock. Banners, prompts and log lines come before the first message of many servers, and are
 * remembered for the text of an error only. `fault` is set by bytes that can be nothing else than an answer in another
 * framing. A server that also logs its messages writes the real one at once: so give it a moment.
 */
class first_words {
  public:
    /// Bytes that are remembered: the latest.
    static constexpr std::size_t most_kept = 64 * 1024;

    /// A line that came.
    void on_line(std::string_view line);

    /// The beginning of the next line, of which there may come more.
    void on_rest(std::string_view unfinished);

    /// Whether a message came.
    [[nodiscard]] bool over() const noexcept { return over_; }

    /// How messages are written instead: goes on with "the server "; empty: not known.
    [[nodiscard]] std::string const& fault() const noexcept { return fault_; }

    /// A line for people that quotes what came, on one line; empty where that is nothing.
    [[nodiscard]] std::string quote() const;

  private:
    std::string said_; ///< lines, and the rest
    std::size_t rest_ = 0;
    std::string fault_;
    bool over_ = false;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/first_words.ipp>
#endif
