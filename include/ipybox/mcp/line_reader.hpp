#pragma once

#include <ipybox/core/result.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace ipybox::mcp {

/**
 * \brief Cuts a byte stream into lines. A byte order mark at the beginning of one is left out: of U+FEFF in UTF-8 some
 * writers make the beginning of a stream.
 * \details Feed it by reading into `prepare()` and telling `commit()` how much came; then take lines with `next()`
 * until there is none. Each byte is looked at once; memory is bounded by the longest line that is allowed, and a long
 * one leaves no large buffer behind.
 */
class line_reader {
  public:
    static constexpr std::size_t read_size = 256 * 1024;

    /// The most that is read at once, however much room there is.
    static constexpr std::size_t largest_read = 1024 * 1024;

    /// A buffer of more than that is given back when its line was taken.
    static constexpr std::size_t largest_kept = 4 * 1024 * 1024;

    explicit line_reader(std::size_t longest) noexcept : longest_(longest) {}

    /// The place to read to. Invalidates lines.
    [[nodiscard]] std::span<char> prepare();

    /// So many bytes were read.
    void commit(std::size_t count) noexcept { end_ += count; }

    /// The next whole line, without its end; valid until `prepare`. None when more bytes are needed.
    /// \par Errors errc::message_too_large — the stream is of no use afterwards, but for `skip_line`
    [[nodiscard]] result<std::optional<std::string_view>> next();

    /// Lets go of the line that is too long, as far as it has come. Then it is to be called again, before `next`.
    /// \return what is let go of, without the line's end; valid until `prepare`
    [[nodiscard]] std::string_view skip_line() noexcept;

    /// Whether a part of the line is still to come.
    [[nodiscard]] bool is_skipping() const noexcept { return skips_; }

    /// The beginning of a line whose end has not come; valid until `prepare`.
    [[nodiscard]] std::string_view unfinished() const noexcept { return {bytes_.get() + begin_, end_ - begin_}; }

  private:
    std::size_t longest_;
    struct deallocate {
        void operator()(char* bytes) const noexcept { std::free(bytes); }
    };
    std::unique_ptr<char, deallocate> bytes_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;    ///< of the next line
    std::size_t searched_ = 0; ///< up to where there is no end of it
    std::size_t end_ = 0;
    bool skips_ = false; ///< up to the next end of a line
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/line_reader.ipp>
#endif
