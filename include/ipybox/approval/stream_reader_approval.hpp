#pragma once

#include <ipybox/approval/approval_request.hpp>
#include <ipybox/approval/decision.hpp>

namespace ipybox {

/**
 * \brief Requests are events of `stream()`: its reader decides. The default of an executor.
 * \details If an execution has no reader, as with `execute`, requests are rejected.
 */
struct stream_reader_approval {
    /// Outside of an executor there is no stream: it rejects.
    [[nodiscard]] decision decide(approval_request const&) const {
        return decision::reject(
            "this application has no approval policy: give its executor one, or answer the requests in stream()");
    }
};

} // namespace ipybox
