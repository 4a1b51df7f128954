#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace ipybox::test {

/// A directory that goes with the test.
class scratch_dir {
  public:
    explicit scratch_dir(std::filesystem::path const& parent = "/tmp") { // short: Unix sockets go into it
        auto name = (parent / "ipybox-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
        path_ = name;
    }
    scratch_dir(scratch_dir const&) = delete;
    scratch_dir& operator=(scratch_dir const&) = delete;

    ~scratch_dir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

    /// Writes a file, with the directories above it.
    std::filesystem::path write(std::filesystem::path const& name, std::string const& text) const {
        auto const file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }

  private:
    std::filesystem::path path_;
};

} // namespace ipybox::test
