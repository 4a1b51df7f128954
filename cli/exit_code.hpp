#pragma once

namespace ipybox::cli {

/// How the program ends. Signals give 128 and their number, as in a shell.
enum class exit_code : int {
    ok = 0,
    failed = 1,          ///< a cell raised an exception or its kernel died, or output could not be written
    usage = 2,           ///< the command line or the file with the code is wrong
    cannot_start = 3,    ///< no kernel or sandbox is available
    timed_out = 124,     ///< a cell took longer than --timeout, as with timeout(1)
    hung_up = 129,       ///< SIGHUP
    interrupted = 130,   ///< SIGINT
    output_closed = 141, ///< standard output was closed, as with SIGPIPE
    terminated = 143     ///< SIGTERM
};

} // namespace ipybox::cli
