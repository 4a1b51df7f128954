#pragma once

#include <ipybox/execution/display.hpp>
#include <ipybox/execution/json_value.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {

/// The result of an execution. An `error` of an execution carries one too, with what there was until then.
struct execution_result {
    /// Everything printed, and the plain text of everything displayed, updates of displays too, in order: what a
    /// terminal shows at the end. Each display has lines of its own, so there is a line end between two of them and
    /// behind text that was printed without one. Without blank lines at its beginning and white space at its end: empty
    /// where nothing was printed, or white space alone. The events of a stream, and `job::output`, have it all.
    std::string text;

    /// The files that PNG images were saved to, in order.
    std::vector<std::filesystem::path> images;

    /// Everything displayed, in order. Displays that were updated hold their last content.
    std::vector<display> displays;

    /// How many displays beyond the first 10 000 `displays` lacks. Their plain text is in `text`, their images are in
    /// `images`; a stream yields them all.
    std::size_t displays_left_out = 0;

    /// From the request to the reply.
    std::chrono::nanoseconds elapsed{0};

    /// The kernel is a fresh one and the state of earlier cells is gone: it was dead before this execution, had to be
    /// killed at its end, or was reset meanwhile.
    bool kernel_restarted = false;

    /// The exit code of code that leaves by `exit` or `sys.exit`. After `exit(n)` the execution has succeeded and the
    /// kernel has ended; `sys.exit(n)` is an error whose exception is `SystemExit`, and the kernel goes on. None: 0; a
    /// text: 1. Of `executor_base::finish` always there.
    std::optional<int> exit_code = std::nullopt;

    /// The file with the whole text if it exceeded `executor_options::output.max_memory`; `text` then has its head and
    /// tail. Else empty.
    std::filesystem::path spill_file;

    /// How many files (images, displays that had to go to files) were not written, because
    /// `executor_options::output.max_files` or `max_spill` was used up, or because they were large and the time of the
    /// execution was.
    std::size_t files_left_out = 0;

    /// The value of the last expression, where `execute_options::want_value` asked for it and it can be JSON of at most
    /// 1 MiB and 100,000 values: what Python's `json.dumps` takes, finite numbers, and scalars of NumPy. None where the
    /// value is None, or hidden by a `;`.
    json_value value;

    /// Why there is no value although it was wanted ("not JSON: a value of type set"). Else empty.
    std::string value_missing;
};

} // namespace ipybox
