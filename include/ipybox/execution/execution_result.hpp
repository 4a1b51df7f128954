#pragma once

#include <ipybox/execution/display.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ipybox {

/// What an execution brought. An `error` of an execution carries one too, with what there was until then.
struct execution_result {
    /// Everything printed, and the plain text of everything displayed, in order; without white space at both ends.
    std::string text;

    /// The files that PNG images were saved to, in order.
    std::vector<std::filesystem::path> images;

    /// Everything displayed, in order. Displays that were updated hold their last content.
    std::vector<display> displays;

    /// How many displays beyond the first 10 000 `displays` lacks. Their plain text is in `text`, their images are in `images`; a stream yields them all.
    std::size_t displays_left_out = 0;

    /// From the request to the reply.
    std::chrono::nanoseconds elapsed{0};

    /// The kernel is a fresh one and the state of earlier cells is gone: it was dead before this execution, or had to be killed at its end.
    bool kernel_restarted = false;

    /// Where the whole text is when it exceeded `executor_options::max_output`; `text` then has its head and tail. Else empty.
    std::filesystem::path spill_file;
};

} // namespace ipybox
