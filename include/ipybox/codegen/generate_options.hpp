#pragma once

#include <ipybox/mcp/tool.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

namespace ipybox::codegen {

/// How a package is generated and written.
struct generate_options {
    /// The names by which a module calls its tool.
    enum class call_style {
        synchronous, ///< `run(params)`
        awaitable,   ///< `await run(params)`
        both         ///< `run(params)` and `await arun(params)`: those run beside each other
    };

    call_style style = call_style::both;               ///< what modules have to call their tools by
    std::function<bool(mcp::tool const&)> filter = {}; ///< which tools get a module; empty: all
    std::string about = {};        ///< what the package says of itself first; empty: whose tools they are
    std::string instructions = {}; ///< what the server says about its use; empty: what an executor's server has said
    std::filesystem::path code_dir =
        {}; ///< code may write there: no link below it is followed; an executor's is its working directory unless set
    std::chrono::milliseconds patience =
        std::chrono::seconds(10); ///< how long another generator of the same package may take
};

} // namespace ipybox::codegen
