#pragma once

#include <ipybox/ipybox.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"
#include "support/scratch_dir.hpp"

/** \file
 * Executors that offer functions of the test as tools.
 */

namespace ipybox::test {

/// An executor whose tools are those of the package `mcptools.host`. Everything is accepted unless a policy is given.
class host_box {
  public:
    explicit host_box(std::vector<host_tool> tools, any_approval policy = auto_approval{})
        : host_box(std::move(tools), std::move(policy), [](executor_options&) {}) {}

    template <class Adapt>
    host_box(std::vector<host_tool> tools, any_approval policy, Adapt adapt) {
        auto options = options_in(dir_.path());
        adapt(options);
        executor_ = std::make_unique<executor>(options, std::move(policy), unsandboxed);
        for (auto& tool : tools) REQUIRE(executor_->add_tool(std::move(tool)));
        generate();
    }

    executor* operator->() { return executor_.get(); }

    void generate() { REQUIRE(executor_->generate_mcp_sources("host", root())); }

    [[nodiscard]] std::filesystem::path root() const { return dir_.path() / "work/mcptools"; }

    /// The text of a cell.
    std::string run(std::string code) { return text_of(executor_->execute(std::move(code))); }

    /// Destroys the executor.
    void drop() { executor_.reset(); }

  private:
    scratch_dir dir_;
    std::unique_ptr<executor> executor_;
};

} // namespace ipybox::test
