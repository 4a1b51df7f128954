#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/input_rounds.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp {

/// A request whose result is handed on as it came.
struct content_request {
    std::string_view method;
    std::string_view name;    ///< the member of `params` that says what is wanted
    std::string_view content; ///< the member of the result that has it, an array
};

inline constexpr content_request resource_request{"resources/read", "uri", "contents"};
inline constexpr content_request prompt_request{"prompts/get", "name", "messages"};

namespace detail {

/// \par Errors errc::protocol_error — it is not an object of JSON with that array
[[nodiscard]] result<raw_json> read_content(std::string_view json, content_request const& request);

} // namespace detail

/**
 * \brief Asks for the contents of a resource, or for the messages of a prompt: one request, and perhaps some more until
 * the server has all it needs (`input_rounds`). No I/O.
 */
template <content_request const& Request>
class content_request_machine {
  public:
    using value_type = raw_json;
    static constexpr std::string_view method = Request.method;

    /// \param name what is wanted
    /// \param arguments of a prompt, JSON; empty: none
    explicit content_request_machine(std::string_view name, std::string arguments = {})
        : name_(json_string(name)), arguments_(std::move(arguments)) {}

    /// `params` of the next request, without `_meta`.
    [[nodiscard]] std::vector<rpc_member> params() const {
        return {{Request.name, name_}, {"arguments", arguments_}, {"requestState", rounds_.state()}};
    }

    /// The meaning of an answer: the result, or that there has to be another request.
    struct reading {
        std::optional<result<raw_json>> outcome;
        std::string state; ///< for another request: JSON of the server
    };

    /// Reads an answer, on any thread. \par Errors errc::protocol_error — it has no such content
    [[nodiscard]] static reading read(std::string_view json) {
        auto wish = input_rounds::wish_in(json, method);
        if (!wish) return {failure(wish), {}};
        if (!*wish) return {detail::read_content(json, Request), {}};
        return {std::nullopt, std::move(**wish)};
    }

    /// Takes what was read: the outcome, or none when there has to be another request.
    [[nodiscard]] std::optional<result<raw_json>> on_reading(reading read) {
        if (read.outcome) return std::move(read.outcome);
        if (auto begun = rounds_.begin_another(std::move(read.state)); !begun) return failure(begun);
        return std::nullopt;
    }

    [[nodiscard]] std::optional<result<raw_json>> on_result(std::string_view json) { return on_reading(read(json)); }

  private:
    std::string name_; ///< JSON
    std::string arguments_;
    input_rounds rounds_;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/content_request_machine.ipp>
#endif
