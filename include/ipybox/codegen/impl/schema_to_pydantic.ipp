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

IPYBOX_DECL bool is_wrapped(ordered_json const& output_schema) {
    if (!output_schema.is_object() || output_schema.value("x-fastmcp-wrap-result", ordered_json()) != true)
        return false;
    auto const properties = output_schema.find("properties");
    return properties != output_schema.end() && properties->is_object() && properties->size() == 1 &&
           properties->contains("result");
}

} // namespace ipybox::codegen
