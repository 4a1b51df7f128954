#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/http/token_store.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ipybox::http {

/**
 * \brief Keeps tokens in files, one for each server, which their owner alone can read (mode 0600).
 * \details The directory is made with mode 0700 when something is saved, and used if no other user can enter it.
 * Files are replaced as a whole. A symbolic link in the place of the directory or of a file is not followed. A file
 * that is broken is not overwritten.
 * \par Errors of all functions: errc::io_error; errc::invalid_argument — the directory or a file is not as it has to be
 */
class file_token_store final : public token_store {
  public:
    explicit file_token_store(std::filesystem::path directory) : directory_(std::move(directory)) {}

    [[nodiscard]] result<std::vector<oauth_grant>> load(std::string const& server) override;
    [[nodiscard]] result<void> save(std::string const& server, oauth_grant const& grant) override;
    [[nodiscard]] result<void> remove(std::string const& server) override;
    [[nodiscard]] result<std::shared_ptr<void>> try_lock(std::string const& server) override;

    /// The file of a server, whether it exists or not.
    [[nodiscard]] std::filesystem::path file_of(std::string const& server) const;

  private:
    enum class missing { is_made, is_empty };

    [[nodiscard]] result<os::unique_fd> open_directory(missing what) const;
    [[nodiscard]] result<std::vector<oauth_grant>> read(os::unique_fd const& in, std::string const& server) const;

    std::filesystem::path const directory_;
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/file_token_store.ipp>
#endif
