#pragma once

#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/basic_executor.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/transport/scripted_transport.hpp>

#include <support/eventually.hpp>
#include <support/scratch_dir.hpp>

#include <asio/use_future.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

/** \file
 * An executor whose kernel is a script.
 */

namespace ipybox::test {

/// The value of a future. What has not come within half a minute never will: then the program ends, for its destructors
/// would hang too.
template <class T>
T got(std::future<T> f) {
    if (f.wait_for(std::chrono::seconds(30)) == std::future_status::ready) return f.get();
    std::cerr << "an operation did not complete" << std::endl;
    std::abort();
}

/// The text of a result, or its error in angle brackets.
inline std::string said(result<execution_result> const& r) {
    return r ? r->text : "<" + r.error().code().message() + ">";
}
inline std::string said(result<void> const& r) { return r ? "ok" : "<" + r.error().code().message() + ">"; }

inline std::string const not_running = "<the executor has been stopped>";
inline std::string const cancelled = "<the call was cancelled>";

class scripted_box {
  public:
    using executor_type = basic_executor<scripted_transport, no_sandbox, deny_approval>;

    scripted_box() {
        adapt([](executor_options&) {});
    }

    /// Makes the executor anew with other options.
    template <class Adapt>
    void adapt(Adapt change) {
        change(options_);
        box_ = std::make_unique<executor_type>(options_, deny_approval(), no_sandbox(), scripted_transport(script_));
    }

    /// Makes the executor anew with another script: the thread of the one before may still use its own.
    void renew() {
        script_ = std::make_shared<kernel_script>();
        adapt([](executor_options&) {});
    }

    /// Makes the executor anew on a context of the application.
    void on(asio::any_io_executor const& io) {
        box_ =
            std::make_unique<executor_type>(io, options_, deny_approval(), no_sandbox(), scripted_transport(script_));
    }

    [[nodiscard]] kernel_script& script() { return *script_; }
    [[nodiscard]] executor_type& operator*() { return *box_; }
    [[nodiscard]] executor_type* operator->() { return box_.get(); }
    [[nodiscard]] std::filesystem::path const& dir() const { return dir_.path(); }

    std::string run(std::string code, execute_options options = {}) {
        return said(box_->execute(std::move(code), std::move(options)));
    }
    std::future<result<execution_result>> begin(std::string code, execute_options options = {}) {
        return box_->async_execute(std::move(code), std::move(options), asio::use_future);
    }

    void drop() { box_.reset(); }
    std::unique_ptr<executor_type> release() { return std::move(box_); }

  private:
    static executor_options options_in(std::filesystem::path const& dir) {
        executor_options o;
        o.output.images_dir = dir / "images";
        o.output.spill_dir = dir / "spill";
        o.kernel.python = "/bin/true"; // there is no kernel: any program will do
        return o;
    }

    scratch_dir dir_;
    executor_options options_ = options_in(dir_.path());
    std::shared_ptr<kernel_script> script_ = std::make_shared<kernel_script>();
    std::unique_ptr<executor_type> box_;
};

} // namespace ipybox::test
