#pragma once

#include <ipybox/execution/execute_options.hpp>
#include <ipybox/execution/execution_event.hpp>
#include <ipybox/session/event_queue.hpp>
#include <ipybox/session/kernel_lifecycle.hpp>
#include <ipybox/session/output_recorder.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace ipybox::detail {

/**
 * \brief The output of one execution: it goes into the result, and as events to the reader of the stream, if there is
 * one.
 * \details While code is being ended, the kernel must be drained whether the events are read or not: those of a full
 * queue are dropped then, and the result has it all.
 */
class execution_output {
  public:
    /**
     * \param life outlives this
     * \param on_full called when the reader is so far behind that the kernel has to wait
     */
    execution_output(std::shared_ptr<output_places> places, output_recorder::bounds const& most,
                     kernel_lifecycle const& life, std::shared_ptr<event_queue> events, bool chunks,
                     std::function<void()> on_full)
        : recorder_(std::move(places), most), life_(life), events_(std::move(events)), chunks_(chunks),
          on_full_(std::move(on_full)) {}

    [[nodiscard]] output_recorder& recorder() noexcept { return recorder_; }

    /// Text that was printed.
    void write(output_chunk chunk);

    /// A display with its files, which are written in place.
    void show(display shown);

    /// The event of a display that the recorder has.
    void tell(display shown) { put(std::move(shown)); }

    /// The output is cleared, now or with the next one.
    void clear(bool wait);

    /// Clears if it is time. A reader is told when the output is cleared, not when the code asks for that.
    void clear_if_due();

  private:
    void put(execution_event event);

    output_recorder recorder_;
    kernel_lifecycle const& life_;
    std::shared_ptr<event_queue> const events_;
    bool const chunks_;
    std::function<void()> const on_full_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/execution_output.ipp>
#endif
