#pragma once

#include <ipybox/jupyter/message.hpp>
#include <ipybox/session/occurrence.hpp>

#include <optional>

namespace ipybox::detail {

/**
 * \brief The answers to what the code of one execution asks by `input()`, on their way to the kernel.
 * \details Protocol only. One answer at a time is on its way to a kernel, which need not read: a newer one takes the
 * place of one that waits.
 */
class input_answers {
  public:
    /// The reply that is to be sent now; none while another one is on its way.
    [[nodiscard]] std::optional<jupyter::message> answer(occurrence::input_answered a);

    /// A reply has been sent. The next one that is to be sent, if one waits.
    [[nodiscard]] std::optional<jupyter::message> sent();

    /// The code has ended: what waits is not sent any more.
    void drop_waiting() noexcept { waiting_.reset(); }

  private:
    bool on_its_way_ = false;
    std::optional<jupyter::message> waiting_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/input_answers.ipp>
#endif
