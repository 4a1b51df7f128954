#pragma once

#include <ipybox/jupyter/message.hpp>
#include <ipybox/session/occurrence.hpp>

#include <memory>

namespace ipybox::detail {

struct run_context;

/**
 * \brief The calls to the kernel's link that one execution has under way.
 * \details They go on beside the execution, so that no kernel that does not read can hold up a timeout. The outcome of
 * each comes into the inbox as an `occurrence::link_called`.
 * \par Thread safety Unsafe: belongs to the session's executor.
 */
class link_calls {
  public:
    explicit link_calls(std::shared_ptr<run_context> context);

    /// \param answers whether it is an answer to `input()`
    void send(jupyter::message m, bool answers = false);

    void interrupt();
    void ask_to_end();

    /// Whether this is the outcome of one of them. It is not under way any more then.
    [[nodiscard]] bool take(occurrence::link_called const& c) noexcept;

    [[nodiscard]] bool are_under_way() const noexcept { return under_way_ > 0; }

  private:
    template <class Call>
    void begin(Call call, bool answers);

    std::shared_ptr<run_context> const context_;
    unsigned const serial_;
    int under_way_ = 0;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/link_calls.ipp>
#endif
