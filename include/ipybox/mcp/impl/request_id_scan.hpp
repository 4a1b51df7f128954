#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ipybox::mcp::detail {

/**
 * \brief Finds the id of a request that is too long to be kept: it is read piece by piece, and forgotten.
 * \details Some clients write the id behind the parameters. Only members of the outermost object count; the first one
 * that is called `id` does.
 */
class request_id_scan {
  public:
    void read(std::string_view piece) {
        for (char const c : piece) read(c);
    }

    /// As JSON; empty: there was none, or the text is not an object.
    [[nodiscard]] std::string const& found() const noexcept { return found_; }

  private:
    static constexpr std::size_t longest = 256;

    void read(char c) {
        if (in_string_) {
            keep(c);
            if (is_escaped_) {
                is_escaped_ = false;
            } else if (c == '\\') {
                is_escaped_ = true;
            } else if (c == '"') {
                in_string_ = false;
            }
            return;
        }
        if (c == '"') {
            in_string_ = true;
            return keep(c);
        }
        if (c == ':' && depth_ == 1) {
            is_id_ = token_ == "\"id\"";
            return token_.clear();
        }
        bool const closes = c == '}' || c == ']';
        if (depth_ == 1 && (c == ',' || closes)) {
            if (is_id_ && found_.empty() && token_.size() < longest) found_ = token_;
            is_id_ = false;
            token_.clear();
        }
        bool const opens = c == '{' || c == '[';
        if (opens) ++depth_;
        if (closes) --depth_;
        bool const is_blank = c == ' ' || c == '\t' || c == '\r';
        if (!is_blank && c != ',' && !opens && !closes) keep(c);
    }

    /// Keeps a byte that belongs to a name or a value of the outermost object.
    void keep(char c) {
        if (depth_ == 1 && token_.size() < longest) token_ += c;
    }

    std::string token_;
    std::string found_;
    std::size_t depth_ = 0;
    bool in_string_ = false;
    bool is_escaped_ = false;
    bool is_id_ = false;
};

} // namespace ipybox::mcp::detail
