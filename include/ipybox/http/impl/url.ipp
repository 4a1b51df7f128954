#pragma once

#include <ipybox/http/impl/curl_library.hpp>
#include <ipybox/http/url.hpp>

#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace ipybox::http {
namespace detail {

struct curl_url_end {
    void operator()(CURLU* handle) const noexcept { curl().url_cleanup(handle); }
};
using curl_url_handle = std::unique_ptr<CURLU, curl_url_end>;

inline std::string part_of(CURLU* handle, CURLUPart what, unsigned flags = 0) {
    char* text = nullptr;
    if (curl().url_get(handle, what, &text, flags) != CURLUE_OK) return {};
    std::unique_ptr<char, decltype(&curl_free)> const kept(text, curl().free);
    return text;
}

inline std::string lower_case(std::string text) {
    for (auto& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

inline error no_url(std::string_view why) {
    return {errc::invalid_argument, "its `url` cannot be used: " + std::string(why)};
}

/// Puts one address after the other into the handle: the second may be relative to the first.
inline std::optional<error> set_url(CURLU* handle, std::string_view text) {
    bool const is_printable = text.find_first_of(std::string_view("\0\r\n\t ", 5)) == std::string_view::npos;
    if (!is_printable) return no_url("it has a space or a control character in it");
    auto const code = curl().url_set(handle, CURLUPART_URL, std::string(text).c_str(), CURLU_NON_SUPPORT_SCHEME);
    if (code != CURLUE_OK) return no_url(curl().url_strerror(code));
    return std::nullopt;
}

} // namespace detail

IPYBOX_DECL result<url> url::parse(std::string_view text) {
    if (auto const& library = detail::loaded_curl(); !library) return failure(library.error());
    detail::curl_url_handle const handle(detail::curl().url());
    if (!handle) throw std::bad_alloc();
    if (auto why = detail::set_url(handle.get(), text)) return failure(*std::move(why));
    url made;
    made.scheme_ = detail::lower_case(detail::part_of(handle.get(), CURLUPART_SCHEME));
    if (made.scheme_ != "http" && made.scheme_ != "https")
        return failure(detail::no_url("it has to begin with http:// or https://"));
    made.host_ = detail::lower_case(detail::part_of(handle.get(), CURLUPART_HOST));
    if (made.host_.empty()) return failure(detail::no_url("it names no host"));
    (void)detail::curl().url_set(handle.get(), CURLUPART_HOST, made.host_.c_str(), 0);
    if (made.host_.front() == '[') made.host_ = made.host_.substr(1, made.host_.size() - 2);
    made.port_ = detail::part_of(handle.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
    made.path_ = detail::part_of(handle.get(), CURLUPART_PATH);
    (void)detail::curl().url_set(handle.get(), CURLUPART_FRAGMENT, nullptr, 0); // it is never sent
    made.text_ = detail::part_of(handle.get(), CURLUPART_URL);
    return made;
}

IPYBOX_DECL result<url> url::resolve(std::string_view reference) const {
    detail::curl_url_handle const handle(detail::curl().url());
    if (!handle) throw std::bad_alloc();
    if (auto why = detail::set_url(handle.get(), text_)) return failure(*std::move(why));
    if (auto why = detail::set_url(handle.get(), reference)) return failure(*std::move(why));
    return parse(detail::part_of(handle.get(), CURLUPART_URL));
}

IPYBOX_DECL std::string url::origin() const {
    bool const is_address_6 = host_.find(':') != std::string::npos;
    auto text = scheme_ + "://" + (is_address_6 ? "[" + host_ + "]" : host_);
    bool const is_implied = port_ == (scheme_ == "https" ? "443" : "80");
    return is_implied ? text : text + ":" + port_;
}

IPYBOX_DECL bool url::is_loopback() const {
    return host_ == "localhost" || host_ == "::1" ||
           (host_.starts_with("127.") && host_.find_first_not_of("0123456789.") == std::string::npos);
}

} // namespace ipybox::http
