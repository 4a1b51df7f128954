#pragma once

#include <ipybox/ipybox.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "support/kernel_box.hpp"

namespace ipybox::test {

/// Executors on one runtime, each in a directory of its own below that of the runtime.
class walled_sessions {
  public:
    explicit walled_sessions(runtime::options options = {}, any_sandbox sandbox = bubblewrap_sandbox{})
        : workspace_(options.working_dir.empty() ? dir_.path() : options.working_dir),
          shared_(in_place(std::move(options)), std::move(sandbox)) {}

    executor& on(std::string const& name) {
        auto& box = boxes_[name];
        if (!box) {
            auto options = options_;
            if (options.working_dir.empty()) options.working_dir = workspace_ / name;
            std::filesystem::create_directories(options.working_dir);
            options.output.images_dir = dir_.path() / "images";
            box = std::make_unique<executor>(options, auto_approval{}, shared_);
        }
        return *box;
    }
    std::string run(std::string const& name, std::string code) { return text_of(on(name).execute(std::move(code))); }
    void drop(std::string const& name) { boxes_.erase(name); }

    /// Of executors that are made from now on.
    executor_options& options() { return options_; }
    scratch_dir const& dir() const { return dir_; }

  private:
    runtime::options in_place(runtime::options options) const {
        options.working_dir = workspace_;
        options.kernel.python = python();
        return options;
    }

    scratch_dir dir_;
    std::filesystem::path workspace_;
    executor_options options_;
    runtime shared_;
    std::map<std::string, std::unique_ptr<executor>> boxes_;
};

} // namespace ipybox::test
