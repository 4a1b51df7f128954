#pragma once

#include <ipybox/app/middle_cut.hpp>
#include <ipybox/job.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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
        auto const printed = job_.output(position_);
        position_ = printed.to;
        if (printed.text.empty() && now - told_ < longest_silence) return;
        auto const cut = cut_middle(printed.text, most_characters);
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
    std::uint64_t position_ = 0;
};

} // namespace ipybox::detail
