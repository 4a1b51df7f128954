#pragma once

#include <ipybox/core/error.hpp>

#include <exception>
#include <string>
#include <system_error>

namespace ipybox::detail {

/// The error that stands for an exception: of a standard library or system that refuses, or of an application's type.
[[nodiscard]] inline error error_of(std::exception_ptr const& bug) {
    auto const text = [](char const* what) { return std::string("the host could not do this: ") + what; };
    try {
        std::rethrow_exception(bug);
    } catch (std::system_error const& e) {
        return error(errc::io_error, text(e.what())).with_cause(e.code());
    } catch (std::exception const& e) { return error(errc::io_error, text(e.what())); } catch (...) {
        return error(errc::io_error, text("an exception of an unknown type"));
    }
}

} // namespace ipybox::detail
