#pragma once

#include <cli/exit_code.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::cli {

/// The wish that a client starts the server: `ipybox mcp --install CLIENT`.
struct client_setup {
    enum class work { install, uninstall };

    std::string client;                 ///< one of known_clients()
    work what = work::install;          ///< or the entry is taken out
    bool is_trial = false;              ///< nothing is written
    std::vector<std::string> arguments; ///< behind `ipybox`, paths in them absolute
};

/// The names of clients that can be set up.
[[nodiscard]] std::vector<std::string> known_clients();

/**
 * \brief Writes the entry `ipybox` into the client's configuration, or takes it out.
 * \details The file as it was is kept beside it. All else in the file stays as it is; a file that cannot be changed in
 * this way is left alone, and the text to add is printed.
 */
[[nodiscard]] exit_code set_up_client(client_setup const& wanted);

} // namespace ipybox::cli
