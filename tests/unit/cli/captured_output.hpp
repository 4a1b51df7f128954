#pragma once

#include <ipybox/os/unique_fd.hpp>

#include <cli/output_file.hpp>

#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

namespace ipybox::test {

/// An output_file into a pipe. What is written must fit into the pipe's buffer (64 KiB).
class captured_output {
  public:
    captured_output() {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
        reader_.reset(ends[0]);
        writer_.reset(ends[1]);
    }

    cli::output_file file() { return cli::output_file(writer_.get()); }

    void close_reader() { reader_.reset(); }

    /// Everything that was written.
    std::string text() {
        writer_.reset();
        std::string text;
        std::array<char, 4096> buffer{};
        for (ssize_t count = 0; (count = ::read(reader_.get(), buffer.data(), buffer.size())) > 0;)
            text.append(buffer.data(), static_cast<std::size_t>(count));
        return text;
    }

  private:
    os::unique_fd reader_;
    os::unique_fd writer_;
};

} // namespace ipybox::test
