#pragma once

namespace ipybox::detail {

/// How an argument compares with a value; as in files: `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `matches`, `prefix`.
enum class comparison {
    equal,     ///< numbers by value, arrays and objects whole
    not_equal, ///< the same turned round
    less,      ///< numbers by value, texts by bytes; so the next three
    at_most,
    greater,
    at_least,
    one_of,  ///< equal to an element of the array
    matches, ///< a text, the value being a wildcard
    prefix,  ///< a text that begins with the value. Says nothing about a path: `/work/../etc` begins with `/work/`
};

} // namespace ipybox::detail
