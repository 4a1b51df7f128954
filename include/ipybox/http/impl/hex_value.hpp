#pragma once

namespace ipybox::http::detail {

/// The value of a hexadecimal digit; -1: it is none.
inline int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

} // namespace ipybox::http::detail
