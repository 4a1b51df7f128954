#pragma once

#include <ipybox/core/ansi.hpp>
#include <ipybox/core/error.hpp>
#include <ipybox/jupyter/message.hpp>

#include <string>

namespace ipybox::jupyter {

/// The exception that content of a reply or of an `error` message tells of, without ANSI sequences in its traceback.
[[nodiscard]] inline error::python_exception exception_in(nlohmann::json const& content) {
    error::python_exception e{message::field(content, "ename"), message::field(content, "evalue"), {}};
    auto const lines = content.find("traceback");
    if (lines == content.end() || !lines->is_array()) return e;
    for (auto const& line : *lines)
        if (line.is_string()) e.traceback.push_back(strip_ansi(line.get_ref<std::string const&>()));
    return e;
}

} // namespace ipybox::jupyter
