#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>

namespace ipybox {

/**
 * \brief A JSON value of a kernel's code: its text as it came, and the value, which is built when it is first looked
 * at.
 * \details Reads as a pointer to the value; null where there is none. Copies share both. Include `nlohmann/json.hpp` to
 * look into it.
 * \par Thread safety Safe: distinct copies in distinct threads.
 */
class json_value {
  public:
    json_value() noexcept = default;

    /// The text has to be JSON.
    explicit json_value(std::string text);

    /// Whether there is a value.
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    /// The text on one line, with the members of objects in their order and integers of any size. Empty where there is
    /// no value.
    [[nodiscard]] std::string const& text() const noexcept;

    /// The value, or nullptr. Members have the order of the text. Integers beyond 64 bits, and numbers with more digits
    /// than a floating-point number keeps, are the nearest floating-point numbers.
    [[nodiscard]] nlohmann::ordered_json const* get() const;
    /// The value; there must be one.
    [[nodiscard]] nlohmann::ordered_json const& operator*() const { return *get(); }
    /// The value; there must be one.
    [[nodiscard]] nlohmann::ordered_json const* operator->() const { return get(); }

  private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/execution/impl/json_value.ipp>
#endif
