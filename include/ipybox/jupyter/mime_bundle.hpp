#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox {

/**
 * \brief What a display offers: one value per MIME type, ordered by type.
 * \details Text types hold text, binary types (`image/png`, …) hold bytes, decoded; JSON types (`application/json`, plotly, vega, …) hold the
 * JSON text. Values come from the kernel and are carried, never interpreted. Copies share them until one of them is added to.
 */
class mime_bundle {
  public:
    enum class encoding { text, bytes, json };

    struct entry {
        std::string type; ///< "text/html"
        encoding kind = encoding::text;
        std::string value; ///< UTF-8 text, raw bytes or JSON text, by `kind`
    };

    void add(entry e);

    [[nodiscard]] std::vector<entry> const& entries() const noexcept;
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

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/mime_bundle.ipp>
#endif
