#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/directory.hpp>
#include <ipybox/os/new_file.hpp>

#include <filesystem>
#include <set>
#include <string_view>

namespace ipybox::detail {

/// The treatment of spill files when their executor is gone.
enum class spilled_files { kept, removed };

/**
 * \brief The directories in which an executor writes files: directories that were opened before its first kernel ran.
 * \details Code may write to the directory that they lie in. No link of its making is followed, and nothing that is
 * there is written over.
 * \par Errors of all functions: errc::io_error
 */
class output_places {
  public:
    struct settings {
        std::filesystem::path images_dir;
        std::filesystem::path spill_dir;
        std::filesystem::path working_dir; ///< code may write there
        spilled_files afterwards = spilled_files::removed;
    };

    explicit output_places(settings where);
    output_places(output_places const&) = delete;
    output_places& operator=(output_places const&) = delete;

    /// Removes spilled files that are not to be kept.
    ~output_places();

    [[nodiscard]] result<os::new_file> make_image();
    [[nodiscard]] result<os::new_file> make_spill_file(std::string_view stem, std::string_view suffix);

    /// Removes a file that was made here.
    void remove_image(std::filesystem::path const& file);
    void remove_spill_file(std::filesystem::path const& file);

  private:
    os::directory_to_make images_;
    os::directory_to_make spill_;
    spilled_files const afterwards_;
    std::set<std::filesystem::path> spilled_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/output_places.ipp>
#endif
