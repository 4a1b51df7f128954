#pragma once

#include <ipybox/ipybox.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "support/files.hpp"
#include "support/python.hpp"
#include "support/scratch_dir.hpp"

/** \file
 * Executors with real kernels, each in a directory of its own.
 */

namespace ipybox::test {

/// The text of a result, or what went wrong: makes a failed comparison say why.
inline std::string text_of(result<execution_result> const& r) {
    return r ? r->text : "<" + r.error().code().message() + ": " + r.error().text() + ">";
}

/// Options for a kernel of the test's interpreter that works in `dir`.
inline executor_options options_in(std::filesystem::path const& dir) {
    executor_options o;
    o.working_dir = dir / "work";
    std::filesystem::create_directories(o.working_dir);
    o.output.images_dir = dir / "images";
    o.output.spill_dir = dir / "spill";
    o.kernel.python = python();
    return o;
}

/// For `executor`, which is in bubblewrap unless told otherwise.
inline any_sandbox const unsandboxed = no_sandbox{};

/// A supervisor in it never becomes ready.
struct mute_sandbox {
    static constexpr bool confines = false; // it has no walls
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const {
        spec.argv = {"/bin/sleep", "60"};
        return spec;
    }
};

/// An executor over a transport, without a sandbox unless one is given.
template <class Transport = socketpair_transport, class Sandbox = no_sandbox>
class kernel_box {
  public:
    using executor_type = basic_executor<Transport, Sandbox, deny_approval>;

    kernel_box() : kernel_box([](executor_options&) {}) {}

    /// `adapt(executor_options&)` changes the options first.
    template <class Adapt>
    explicit kernel_box(Adapt adapt) : options_(options_in(dir_.path())) {
        adapt(options_);
        executor_ = std::make_unique<executor_type>(options_);
    }

    executor_type& operator*() { return *executor_; }
    executor_type* operator->() { return executor_.get(); }

    [[nodiscard]] executor_options const& options() const { return options_; }
    [[nodiscard]] std::filesystem::path const& dir() const { return dir_.path(); }

    /// The text of a cell.
    std::string run(std::string code) { return text_of(executor_->execute(std::move(code))); }

    /// Destroys the executor.
    void drop() { executor_.reset(); }

  private:
    scratch_dir dir_;
    executor_options options_;
    std::unique_ptr<executor_type> executor_;
};

} // namespace ipybox::test
