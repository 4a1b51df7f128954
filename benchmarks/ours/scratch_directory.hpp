#pragma once

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace bench {

/// A directory to work in, that goes with the object.
class scratch_directory {
  public:
    scratch_directory() {
        auto name = (std::filesystem::temp_directory_path() / "bench-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", name, {});
        path_ = name;
        std::filesystem::current_path(path_);
    }
    scratch_directory(scratch_directory const&) = delete;
    scratch_directory& operator=(scratch_directory const&) = delete;
    ~scratch_directory() {
        std::filesystem::current_path("/");
        std::filesystem::remove_all(path_);
    }

  private:
    std::filesystem::path path_;
};

} // namespace bench
