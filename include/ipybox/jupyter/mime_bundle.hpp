#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The content of a display: one value per MIME type, ordered by type.
 * \details Text types hold text, binary types (`image/png`, …) hold bytes, decoded; JSON types (`application/json`,
 * plotly, vega, …) hold the JSON text. Values come from the kernel and are carried, never interpreted. Copies share
 * them until one of them is added to.
 */
class mime_bundle {
  public:
    /// How `content` is to be read.
    enum class encoding { text, bytes, json };

    /// The content in one MIME type.
    struct entry {
        std::string type; ///< "text/html"
        /// How `content` is to be read.
        encoding kind = encoding::text;
        std::string value; ///< UTF-8 text, raw bytes or JSON text, by `kind`
    };

    /// Adds content of a further MIME type.
    void add(entry e);

    /// All contents, in the order in which they came.
    [[nodiscard]] std::vector<entry> const& entries() const noexcept;
    /// Whether there is no content.
    [[nodiscard]] bool empty() const noexcept { return entries().empty(); }

    /// The value of a MIME type, or nullptr.
    [[nodiscard]] std::string const* find(std::string_view type) const noexcept;

    /// Bytes of all values and of the names of their types.
    [[nodiscard]] std::size_t size() const noexcept;

    /// The bundle as Jupyter writes it: an object, binary values in base64.
    [[nodiscard]] nlohmann::json to_json() const;

  private:
    std::shared_ptr<std::vector<entry>> entries_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/mime_bundle.ipp>
#endif
