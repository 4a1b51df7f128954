#pragma once

#include <ipybox/async/executor_lender.hpp>

#include <memory>
#include <utility>

namespace ipybox::test {

/// Lends an executor whose context stays.
class lent_executor final : public detail::executor_lender {
  public:
    explicit lent_executor(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    void with_executor(borrower const& use) const override { use(executor_); }

  private:
    asio::any_io_executor executor_;
};

[[nodiscard]] inline std::shared_ptr<lent_executor const> lend(asio::any_io_executor executor) {
    return std::make_shared<lent_executor const>(std::move(executor));
}

} // namespace ipybox::test
