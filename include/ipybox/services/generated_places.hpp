#pragma once

#include <ipybox/services/generated_place.hpp>

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The places where packages of host tools were generated: their tools may change.
 * \par Thread safety Safe.
 */
class generated_places {
  public:
    void remember(std::string const& package, generated_place place);
    [[nodiscard]] std::vector<generated_place> of(std::string const& package) const;

  private:
    mutable std::mutex mutex_;
    std::map<std::string, std::vector<generated_place>> places_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/services/impl/generated_places.ipp>
#endif
