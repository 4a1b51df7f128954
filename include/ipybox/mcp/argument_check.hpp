#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

namespace ipybox::detail {

/// Arguments take too many steps to check, or the call is not waited for any more.
struct check_stopped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/**
 * \brief How many steps the arguments of one call may take to be checked and converted: alternatives that have
 * themselves in them can be tried in exponentially many ways.
 * \details A step is a schema that is applied to a value.
 */
class check_budget {
  public:
    /// No bound: for values of the application.
    check_budget() = default;

    /// For arguments of so many bytes. Most schemas take less than a step for each byte.
    check_budget(std::size_t bytes, std::stop_token stop) : left_(least + per_byte * bytes), stop_(std::move(stop)) {}

    /// Takes a step. Throws check_stopped where there is none left, and after the stop.
    void step() {
        if (left_ == 0) throw check_stopped("the value takes too many steps to check: leave out what is nested");
        --left_;
        if (left_ % looks_each == 0 && stop_.stop_requested())
            throw check_stopped("the answer is not waited for any more");
    }

    static constexpr std::size_t least = 100'000;
    static constexpr std::size_t per_byte = 50;

  private:
    static constexpr std::size_t looks_each = 4096;

    std::size_t left_ = static_cast<std::size_t>(-1);
    std::stop_token stop_;
};

/**
 * \brief Whether values can be checked by a schema here: it uses no keyword of JSON Schema 2020-12 that constrains and
 * is not known.
 * \details Known are all but `pattern`, `patternProperties`, `unevaluated…`, `$dynamicRef` and references that lead out
 * of `$defs`. `format` and what describes constrain nothing.
 * \return which keyword, and where; nothing where values can be checked
 */
[[nodiscard]] std::optional<std::string> find_unchecked(nlohmann::ordered_json const& schema);

/**
 * \brief The mistake in a value, and its place: "matrix/0/1 has to be a number"; nothing where it fits. Throws
 * check_stopped where the budget is used up.
 * \param schema one that `find_unchecked` has nothing against
 */
[[nodiscard]] std::optional<std::string> find_mismatch(nlohmann::ordered_json const& schema,
                                                       nlohmann::json const& value, check_budget& budget);

/// The same without a bound.
[[nodiscard]] std::optional<std::string> find_mismatch(nlohmann::ordered_json const& schema,
                                                       nlohmann::json const& value);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/argument_check.ipp>
#endif
