#pragma once

#include <ipybox/core/result.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/// Whether a document may have what editors write into their configuration: comments (`//` and `/* */`), and a comma
/// behind the last member or element.
enum class json_dialect { strict, of_editors };

/**
 * \brief Parses JSON that permissions depend on: a duplicate member is an error, and so is deep nesting.
 * \details Other parsers take the last of two members, or the first; a reader must not see one and mean the other.
 * \return or errc::invalid_argument, "NAME:LINE:COLUMN: WHAT". The text itself is not quoted: it may be a secret.
 */
[[nodiscard]] result<nlohmann::json> parse_strictly(std::string_view text, std::string_view name,
                                                    json_dialect dialect = json_dialect::strict);

/// An error in a document: the place in it (RFC 6901, the document's name in front) and the reason.
struct json_problem {
    std::string place;
    std::string reason;
};

/// The text of the value that `pointer` (RFC 6901, without escapes) leads to in a JSON text; none where nothing is
/// there.
[[nodiscard]] std::optional<std::string_view> json_part(std::string_view text, std::string_view pointer);

/**
 * \brief Reads the members of one object. A member that has the wrong type, is missing or unknown is the object's
 * error: the first of them.
 * \details `where` is the place of the object in its document (RFC 6901), for the texts of errors. The value must
 * outlive the reader.
 */
class strict_object {
  public:
    strict_object(nlohmann::json const& value, std::string where);

    /// The member, or nullptr. It counts as known from now on, here and in what follows.
    nlohmann::json const* find(std::string_view name);

    std::optional<std::string> text(std::string_view name);
    std::optional<std::uint64_t> count(std::string_view name);               ///< an integer above 0
    std::optional<std::chrono::milliseconds> seconds(std::string_view name); ///< a number above 0, at most ten years
    std::optional<bool> flag(std::string_view name);
    nlohmann::json const* array(std::string_view name);
    std::optional<std::vector<std::string>> texts(std::string_view name); ///< a list of strings, none of them empty
    std::optional<strict_object> object(std::string_view name);           ///< with a reader of its own

    /// The object is wrong for a reason of the caller's.
    void fail(std::string_view name, std::string_view what);

    /// The object lacks a member. A member that is not known is the better error: its name may be the wrong spelling of
    /// this one.
    void fail_missing(std::string_view name, std::string_view what);

    [[nodiscard]] std::string place(std::string_view name) const;

    /// The first error; a member that was not asked for is one, too.
    [[nodiscard]] std::optional<json_problem> problem();

    /// Success, where all that was read was right and nothing else is there.
    [[nodiscard]] result<void> finish();

  private:
    /// "; did you mean NAME?", or nothing.
    [[nodiscard]] std::string meant_by(std::string_view name) const;

    template <class T, class Accept>
    std::optional<T> take(std::string_view name, std::string_view wanted, Accept accept);

    nlohmann::json const& value_;
    std::string where_;
    std::set<std::string, std::less<>> known_;
    std::optional<json_problem> problem_;
    std::optional<json_problem> missing_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/strict_json.ipp>
#endif
