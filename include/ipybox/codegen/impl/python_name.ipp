#pragma once

#include <ipybox/codegen/python_name.hpp>
#include <ipybox/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace ipybox::codegen {
namespace detail {

inline constexpr std::string_view keywords[] = {
    "False",  "None",     "True", "and",    "as",   "assert", "async",   "await",  "break", "class",  "continue", "def",
    "del",    "elif",     "else", "except", "for",  "from",   "finally", "global", "if",    "import", "in",       "is",
    "lambda", "nonlocal", "not",  "or",     "pass", "raise",  "return",  "try",    "while", "with",   "yield"};

/// Names that a class body or its annotations use, and what Pydantic's BaseModel and its metaclass already have.
inline constexpr std::string_view field_words[] = {
    "Annotated",
    "Any",
    "CLIENT",
    "Field",
    "Literal",
    "Model",
    "Schema",
    "UNSET",
    "annotations",
    "arun",
    "bool",
    "construct",
    "copy",
    "dict",
    "float",
    "from_orm",
    "int",
    "json",
    "list",
    "model_computed_fields",
    "model_config",
    "model_construct",
    "model_copy",
    "model_dump",
    "model_dump_json",
    "model_extra",
    "model_fields",
    "model_fields_set",
    "model_json_schema",
    "model_parametrized_name",
    "model_post_init",
    "model_rebuild",
    "model_validate",
    "model_validate_json",
    "model_validate_strings",
    "mro",
    "parse_file",
    "parse_obj",
    "parse_raw",
    "register",
    "rule",
    "run",
    "schema",
    "schema_json",
    "schema_of",
    "str",
    "to_arguments",
    "to_result",
    "to_text",
    "tuple",
    "update_forward_refs",
    "validate",
};

inline constexpr std::string_view class_words[] = {"Annotated", "Any",   "BaseModel", "CLIENT", "False",  "Field",
                                                   "Literal",   "Model", "None",      "Params", "Record", "Result",
                                                   "Schema",    "Tool",  "True",      "UNSET"};

/// sys.stdlib_module_names of Python 3.10 to 3.13, without those that begin with `_`: no package does.
inline constexpr std::string_view standard_modules[] = {
    "abc",          "aifc",         "antigravity",  "argparse",    "array",       "ast",
    "asynchat",     "asyncio",      "asyncore",     "atexit",      "audioop",     "base64",
    "bdb",          "binascii",     "binhex",       "bisect",      "builtins",    "bz2",
    "cProfile",     "calendar",     "cgi",          "cgitb",       "chunk",       "cmath",
    "cmd",          "code",         "codecs",       "codeop",      "collections", "colorsys",
    "compileall",   "concurrent",   "configparser", "contextlib",  "contextvars", "copy",
    "copyreg",      "crypt",        "csv",          "ctypes",      "curses",      "dataclasses",
    "datetime",     "dbm",          "decimal",      "difflib",     "dis",         "distutils",
    "doctest",      "email",        "encodings",    "ensurepip",   "enum",        "errno",
    "faulthandler", "fcntl",        "filecmp",      "fileinput",   "fnmatch",     "fractions",
    "ftplib",       "functools",    "gc",           "genericpath", "getopt",      "getpass",
    "gettext",      "glob",         "graphlib",     "grp",         "gzip",        "hashlib",
    "heapq",        "hmac",         "html",         "http",        "idlelib",     "imaplib",
    "imghdr",       "imp",          "importlib",    "inspect",     "io",          "ipaddress",
    "itertools",    "json",         "keyword",      "lib2to3",     "linecache",   "locale",
    "logging",      "lzma",         "mailbox",      "mailcap",     "marshal",     "math",
    "mimetypes",    "mmap",         "modulefinder", "msilib",      "msvcrt",      "multiprocessing",
    "netrc",        "nis",          "nntplib",      "nt",          "ntpath",      "nturl2path",
    "numbers",      "opcode",       "operator",     "optparse",    "os",          "ossaudiodev",
    "pathlib",      "pdb",          "pickle",       "pickletools", "pipes",       "pkgutil",
    "platform",     "plistlib",     "poplib",       "posix",       "posixpath",   "pprint",
    "profile",      "pstats",       "pty",          "pwd",         "py_compile",  "pyclbr",
    "pydoc",        "pydoc_data",   "pyexpat",      "queue",       "quopri",      "random",
    "re",           "readline",     "reprlib",      "resource",    "rlcompleter", "runpy",
    "sched",        "secrets",      "select",       "selectors",   "shelve",      "shlex",
    "shutil",       "signal",       "site",         "smtpd",       "smtplib",     "sndhdr",
    "socket",       "socketserver", "spwd",         "sqlite3",     "sre_compile", "sre_constants",
    "sre_parse",    "ssl",          "stat",         "statistics",  "string",      "stringprep",
    "struct",       "subprocess",   "sunau",        "symtable",    "sys",         "sysconfig",
    "syslog",       "tabnanny",     "tarfile",      "telnetlib",   "tempfile",    "termios",
    "textwrap",     "this",         "threading",    "time",        "timeit",      "tkinter",
    "token",        "tokenize",     "tomllib",      "trace",       "traceback",   "tracemalloc",
    "tty",          "turtle",       "turtledemo",   "types",       "typing",      "unicodedata",
    "unittest",     "urllib",       "uu",           "uuid",        "venv",        "warnings",
    "wave",         "weakref",      "webbrowser",   "winreg",      "winsound",    "wsgiref",
    "xdrlib",       "xml",          "xmlrpc",       "zipapp",      "zipfile",     "zipimport",
    "zlib",         "zoneinfo"};

template <std::size_t N>
inline bool is_one_of(std::string_view const (&table)[N], std::string_view text) noexcept {
    return std::find(std::begin(table), std::end(table), text) != std::end(table);
}

inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return is_lower(c) || is_upper(c); }
inline bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
inline char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
inline char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

/// With `_` for every other character; bytes of one character of UTF-8 count once.
inline std::string words_of(std::string_view text) {
    std::string out;
    for (char const c : text)
        if (!continues_character(c)) out.push_back(is_word(c) ? c : '_');
    return out;
}

inline bool is_name(std::string_view text) {
    return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), is_word);
}

/// FNV-1a: tells long names apart that begin alike.
inline std::string eight_digits(std::string_view text) {
    std::uint32_t hash = 2166136261u;
    for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    std::array<char, 9> out{};
    std::snprintf(out.data(), out.size(), "%08x", hash);
    return out.data();
}

inline std::string module_name(std::string_view tool) {
    static constexpr std::size_t longest = 100;
    auto name = words_of(tool);
    std::transform(name.begin(), name.end(), name.begin(), to_lower);
    if (is_python_keyword(name)) name += '_';
    if (name.empty() || !is_letter(name.front())) name = "tool_" + name;
    if (name.size() > longest) name = name.substr(0, longest) + "_" + eight_digits(tool);
    return name;
}

inline bool can_be_field(std::string_view property, name_scope const& classes) {
    return is_name(property) && !is_python_keyword(property) && !is_one_of(field_words, property) &&
           !classes.has(property);
}

inline std::string field_name(std::string_view property, name_scope const& classes) {
    auto name = words_of(property);
    name.erase(0, name.find_first_not_of('_'));
    if (name.empty()) name = "field";
    if (!is_letter(name.front())) name = "field_" + name;
    if (!can_be_field(name, classes)) name += '_';
    return name;
}

/// The names in their order: those that keep theirs are served first.
template <class Keeps, class Change>
std::vector<std::string> distinct_names(std::vector<std::string> const& originals,
                                        std::vector<std::size_t> const& order, Keeps keeps, Change change) {
    name_scope taken;
    std::vector<std::string> names(originals.size());
    for (auto const i : order)
        if (keeps(originals[i])) names[i] = taken.take(originals[i], "_");
    for (auto const i : order)
        if (!keeps(originals[i])) names[i] = taken.take(change(originals[i]), "_");
    return names;
}

inline std::vector<std::size_t> indices(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
}

} // namespace detail

IPYBOX_DECL std::string name_scope::take(std::string name, std::string_view separator) {
    auto const stem = name;
    for (int number = 2; !names_.insert(name).second; ++number)
        name = stem + std::string(separator) + std::to_string(number);
    return name;
}

IPYBOX_DECL bool is_python_keyword(std::string_view text) noexcept { return detail::is_one_of(detail::keywords, text); }

IPYBOX_DECL bool is_standard_module(std::string_view name) noexcept {
    return detail::is_one_of(detail::standard_modules, name);
}

IPYBOX_DECL result<void> check_package_name(std::string_view name) {
    static constexpr std::size_t longest = 100;
    if (detail::is_name(name) && name.size() <= longest && !is_python_keyword(name)) return {};
    std::string shown;
    for (char const c : name.substr(0, longest)) shown.push_back(c >= ' ' && c <= '~' ? c : '?');
    return failure(
        errc::invalid_argument,
        "'" + shown +
            "' cannot be the name of a server's package: take letters, digits and '_', a letter first, at most 100 "
            "characters, and no keyword of Python");
}

IPYBOX_DECL std::vector<std::string> field_names(std::vector<std::string> const& properties,
                                                 name_scope const& classes) {
    return detail::distinct_names(
        properties, detail::indices(properties.size()),
        [&](std::string const& property) { return detail::can_be_field(property, classes); },
        [&](std::string const& property) { return detail::field_name(property, classes); });
}

IPYBOX_DECL std::string class_name(std::string_view text) {
    static constexpr std::size_t longest = 60;
    std::string out;
    bool begins = true;
    for (char const c : text.substr(0, 4 * longest)) {
        bool const fits = detail::is_letter(c) || detail::is_digit(c);
        if (fits && out.size() < longest) out.push_back(begins ? detail::to_upper(c) : c);
        begins = !fits;
    }
    if (out.empty()) return "Item";
    return detail::is_digit(out.front()) ? "Item" + out : out;
}

IPYBOX_DECL std::string singular(std::string_view plural) {
    auto const ends = [&](std::string_view with) { return plural.size() > with.size() && plural.ends_with(with); };
    auto const without = [&](std::size_t count) { return std::string(plural.substr(0, plural.size() - count)); };
    if (ends("hildren")) return without(3);
    if (ends("ies")) return without(3) + "y";
    if (ends("ches") || ends("shes") || ends("sses") || ends("xes")) return without(2);
    if (ends("s") && !ends("ss") && !ends("us") && !ends("is")) return without(1);
    return std::string(plural) + "Item";
}

IPYBOX_DECL name_scope reserved_class_names() {
    name_scope names;
    for (auto const word : detail::class_words) names.take(std::string(word), "");
    return names;
}

} // namespace ipybox::codegen
