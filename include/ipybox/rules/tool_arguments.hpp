#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace ipybox::detail {

/**
 * \brief The arguments of a tool, which may be large: their value may be built when it is first looked at.
 * \details Reads as a pointer to the value; null for actions that have no arguments. Copies share the value.
 * \par Thread safety Safe: distinct copies in distinct threads.
 */
class tool_arguments {
  public:
    tool_arguments() noexcept = default;
    tool_arguments(std::nullptr_t) noexcept {}
    tool_arguments(std::shared_ptr<nlohmann::ordered_json const> value) noexcept : value_(std::move(value)) {}

    /// Arguments whose value `build` makes, at most once, in the thread that looks first.
    [[nodiscard]] static tool_arguments built_by(std::function<nlohmann::ordered_json()> build);

    [[nodiscard]] explicit operator bool() const noexcept { return value_ != nullptr || later_ != nullptr; }

    /// The value, or nullptr. Throws what building it throws.
    [[nodiscard]] nlohmann::ordered_json const* get() const;
    [[nodiscard]] nlohmann::ordered_json const& operator*() const { return *get(); }
    [[nodiscard]] nlohmann::ordered_json const* operator->() const { return get(); }

    /// Whether looking costs nothing.
    [[nodiscard]] bool is_built() const noexcept { return later_ == nullptr; }

  private:
    struct later;

    std::shared_ptr<nlohmann::ordered_json const> value_;
    std::shared_ptr<later> later_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/tool_arguments.ipp>
#endif
