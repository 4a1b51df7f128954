#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/**
 * \brief The servers that actions are being decided about: one may go meanwhile, and another one get its name.
 * \par Thread safety Safe.
 */
class watched_servers {
  public:
    /// Looks from its construction on whether its server goes.
    class watch {
      public:
        watch(std::shared_ptr<watched_servers> all, std::string server)
            : all_(std::move(all)), server_(std::move(server)) {
            std::scoped_lock const lock(all_->mutex_);
            all_->watches_.insert(this);
        }
        watch(watch const&) = delete;
        watch& operator=(watch const&) = delete;
        ~watch() {
            std::scoped_lock const lock(all_->mutex_);
            all_->watches_.erase(this);
        }

        [[nodiscard]] bool is_gone() const {
            std::scoped_lock const lock(all_->mutex_);
            return is_gone_;
        }

      private:
        friend class watched_servers;
        std::shared_ptr<watched_servers> all_;
        std::string const server_;
        bool is_gone_ = false;
    };

    /// A server is removed or replaced.
    void forget(std::string_view server) {
        std::scoped_lock const lock(mutex_);
        for (auto* const each : watches_)
            if (each->server_ == server) each->is_gone_ = true;
    }

  private:
    std::mutex mutex_;
    std::set<watch*> watches_;
};

} // namespace ipybox::detail
