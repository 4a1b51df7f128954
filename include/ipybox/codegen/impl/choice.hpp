#pragma once

#include <ipybox/codegen/python_type.hpp>
#include <ipybox/core/config.hpp>

#include <vector>

namespace ipybox::codegen::detail {

/// One of the types: choices in it are unfolded, duplicates dropped, plain literals put together; None comes last.
[[nodiscard]] python_type make_choice(std::vector<python_type> parts);

/// Whether no value fits two of the types. A `no` may be a "cannot tell".
[[nodiscard]] bool are_disjoint(std::vector<python_type> const& parts, std::vector<python_class> const& classes);

/// Whether a class is anywhere in the type.
[[nodiscard]] bool has_class(python_type const& type);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/choice.ipp>
#endif
