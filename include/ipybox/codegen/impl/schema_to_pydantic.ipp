#pragma once

#include <ipybox/codegen/impl/translator.hpp>
#include <ipybox/codegen/schema_to_pydantic.hpp>

namespace ipybox::codegen {

IPYBOX_DECL translation translate_arguments(schema_document const& document) {
    detail::translator work(document);
    auto root = work.arguments();
    return std::move(work).finish(std::move(root));
}

IPYBOX_DECL translation translate_result(schema_document const& document) {
    detail::translator work(document);
    auto root = work.result();
    auto done = std::move(work).finish(std::move(root));
    done.classes.lenient = true;
    return done;
}

} // namespace ipybox::codegen
