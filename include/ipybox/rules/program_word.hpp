#pragma once

#include <ipybox/core/config.hpp>

#include <string_view>

namespace ipybox::detail {

/// "ls" of "/bin/ls".
[[nodiscard]] std::string_view base_name(std::string_view program);

/// True for `sh`, `bash` and `dash`, where a system has them.
[[nodiscard]] bool is_posix_shell(std::string_view program);

/// True for a program whose arguments may be a command: `env rm x`, `find -exec rm`, `sh -c 'rm x'`. A list of the
/// usual ones.
[[nodiscard]] bool takes_command(std::string_view program);

/// True for these and for all that run others in some other way (`git -c core.pager=…`, `tar --checkpoint-action=…`). A
/// list, which cannot be complete.
[[nodiscard]] bool runs_others(std::string_view program);

/**
 * \brief True for the builtins of shells that evaluate their words once more, or change what later commands mean:
 * `read`, `printf -v`, `export`, `hash`.
 * \details `read 'a[$(x)]'` runs x, and `read PATH` changes which `ls` the next command is. A pattern allows them with
 * exactly the words that it has.
 */
[[nodiscard]] bool is_shell_state(std::string_view program);

/// True for the builtins of shells whose arguments are numbers: `exit`, `shift`. ksh and zsh compute them, and so run x
/// for `exit 'a[$(x)]'`.
[[nodiscard]] bool takes_numbers(std::string_view program);

/// True for the shells that take such arguments, and those of `printf %d`, for numbers as they are.
[[nodiscard]] bool is_plain_shell(std::string_view program);

/**
 * \brief True for a name or path that is read in one way only: letters, digits and `_ . + - / @ : % , =`, and no `..`,
 * `.` or empty part in a path but
 * `./` at its beginning.
 * \details One with a blank, a quote, `#` or `..` is a program too (`"ls /../x"` is the path to `x`), but not one that
 * a wildcard was meant for.
 */
[[nodiscard]] bool is_plain_program(std::string_view program);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/program_word.ipp>
#endif
