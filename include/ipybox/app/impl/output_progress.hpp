#pragma once

#include <ipybox/app/middle_cut.hpp>
#include <ipybox/job.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// Tells a client what a job prints, and that it still runs: some clients wait longer then.
class output_progress {
  public:
    using clock = std::chrono::steady_clock;

    output_progress(std::shared_ptr<mcp::server::call> call, job what)
        : call_(std::move(call)), job_(std::move(what)) {}

    void report(clock::time_point now) {
        constexpr std::chrono::seconds longest_silence{5};
        constexpr std::size_t most_characters = 1000;
        auto const printed = job_.preview(position_);
        bool const is_new = printed.text != last_line_ && !printed.text.empty();
        // The last line is told again when it has changed: it may be a progress bar.
        auto const line = printed.text.rfind('\n') + 1;
        position_ = printed.to - (printed.text.size() - line);
        last_line_ = printed.text.substr(line);
        if (!is_new && now - told_ < longest_silence) return;
        auto const cut = cut_middle(is_new ? std::string_view(printed.text) : std::string_view(), most_characters);
        std::string message(cut.head);
        if (cut.left_out > 0) message.append("\n[...]\n").append(cut.tail);
        if (message.empty()) message = "cell " + job_.id() + " runs";
        call_->progress(std::chrono::duration<double>(now - began_).count(), {}, std::move(message));
        told_ = now;
    }

  private:
    std::shared_ptr<mcp::server::call> call_;
    job job_;
    clock::time_point const began_ = clock::now();
    clock::time_point told_ = began_;
    std::uint64_t position_ = 0; ///< of the last line that was told
    std::string last_line_;
};

} // namespace ipybox::detail
