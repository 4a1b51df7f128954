#pragma once

namespace ipybox::codegen {

/// The names by which a module calls its tool.
enum class call_style {
    synchronous, ///< `run(params)`
    awaitable,   ///< `await run(params)`
    both         ///< `run(params)` and `await arun(params)`
};

} // namespace ipybox::codegen
