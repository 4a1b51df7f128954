#pragma once

#include <ipybox/core/config.hpp>

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace ipybox::jupyter {

/// The frames that are signed, in this order: header, parent_header, metadata, content.
using signed_frames = std::array<std::string_view, 4>;

/**
 * \brief Signs messages with HMAC-SHA256 (messaging specification, "The Wire Protocol").
 * \details With an empty key messages are not signed: `sign` gives an empty text and `verify` accepts everything.
 * \par Thread safety Distinct objects: safe. Shared objects: unsafe.
 */
class signer {
  public:
    explicit signer(std::string_view key);
    signer(signer&&) noexcept;
    signer& operator=(signer&&) noexcept;
    ~signer();

    /// The signature in lower-case hexadecimal.
    [[nodiscard]] std::string sign(signed_frames const& frames);

    /// Compares in a time that does not depend on where the signatures differ.
    [[nodiscard]] bool verify(std::string_view signature, signed_frames const& frames);

  private:
    struct state;
    std::unique_ptr<state> state_; // none without a key
};

} // namespace ipybox::jupyter

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/signature.ipp>
#endif
