#pragma once

#include <ipybox/session/execute_machine.hpp>

#include <cstddef>
#include <deque>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief The output of threads and tasks between two executions: the next one begins with it.
 * \details Bounded: of more than `bound` bytes the oldest are dropped. Text is kept in pieces that end between two
 * characters.
 */
class late_output {
  public:
    static constexpr std::size_t bound = std::size_t(1) << 20;

    void keep(jupyter::message m);

    /// In the order it came; afterwards there is none.
    [[nodiscard]] std::deque<execute_step> take();

  private:
    void keep_text(output_chunk::stream_name stream, std::string_view text);
    void keep_step(execute_step step);
    void keep_bound();

    std::deque<execute_step> steps_;
    std::size_t bytes_ = 0; ///< of all steps
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/late_output.ipp>
#endif
