#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// A program with pipes at its standard input and output. Its input ends with the object, which waits for its end.
class child_program {
  public:
    child_program(std::filesystem::path const& program, std::vector<std::string> arguments);
    child_program(child_program const&) = delete;
    child_program& operator=(child_program const&) = delete;
    ~child_program();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Its next line of output, without the line feed. Throws when there is none.
    [[nodiscard]] std::string line();

    /// Writes to its input. Throws when it takes none.
    void write(std::string_view text);

  private:
    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;
    std::string read_; ///< beyond the last line
};

} // namespace bench
