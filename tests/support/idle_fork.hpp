#pragma once

#include <ipybox/os/unique_fd.hpp>

#include <support/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace ipybox::test {

/// A fork of this process that does nothing, for as long as this lives.
class idle_fork {
  public:
    idle_fork() {
        int begun[2] = {-1, -1};
        REQUIRE(::pipe2(begun, O_CLOEXEC) == 0);
        os::unique_fd const reader(begun[0]);
        os::unique_fd const writer(begun[1]);
        child_ = ::fork();
        if (child_ == 0) {
            if (::write(writer.get(), "x", 1) != 1) ::_exit(1);
            for (;;) ::pause();
        }
        REQUIRE(child_ > 0);
        char byte = 0;
        REQUIRE(::read(reader.get(), &byte, 1) == 1);
    }
    idle_fork(idle_fork const&) = delete;
    idle_fork& operator=(idle_fork const&) = delete;
    ~idle_fork() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }

  private:
    pid_t child_ = -1;
};

} // namespace ipybox::test
