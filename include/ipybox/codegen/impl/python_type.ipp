#pragma once

#include <ipybox/codegen/python_type.hpp>

#include <utility>

namespace ipybox::codegen {

IPYBOX_DECL std::size_t python_type::size() const {
    std::size_t nodes = 1 + values.size() / 8 + constraints.size() + checks.size();
    for (auto const& part : parts) nodes += part.size();
    return nodes;
}

IPYBOX_DECL python_type python_type::scalar(std::string word, kinds accepts) {
    python_type type;
    type.is = form::scalar;
    type.word = std::move(word);
    type.accepts = accepts;
    return type;
}

IPYBOX_DECL python_type python_type::of_class(std::size_t model) {
    python_type type;
    type.is = form::object;
    type.accepts = kinds::object;
    type.model = model;
    return type;
}

} // namespace ipybox::codegen
