#pragma once

#include <cstddef>
#include <string_view>

namespace ipybox::detail {

/// The names of references to characters that count without a semicolon, too: `&copy=` is drawn as a sign and `=`
/// (HTML, section 13.5, "Named character references"). Each ends with a blank.
inline constexpr std::string_view lasting_references =
    "AElig AMP Aacute Acirc Agrave Aring Atilde Auml COPY Ccedil ETH Eacute Ecirc Egrave Euml GT Iacute Icirc Igrave "
    "Iuml LT Ntilde Oacute Ocirc Ograve Oslash Otilde Ouml QUOT REG THORN Uacute Ucirc Ugrave Uuml Yacute aacute acirc "
    "acute aelig agrave amp aring atilde auml brvbar ccedil cedil cent copy curren deg divide eacute ecirc egrave eth "
    "euml frac12 frac14 frac34 gt iacute icirc iexcl igrave iquest iuml laquo lt macr micro middot nbsp not ntilde "
    "oacute ocirc ograve ordf ordm oslash otilde ouml para plusmn pound quot raquo reg sect shy sup1 sup2 sup3 szlig "
    "thorn times uacute ucirc ugrave uml uuml yacute yen yuml ";

inline bool is_ascii_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Whether text behind `&` makes a reference to a character of it.
inline bool completes_reference(std::string_view text) noexcept {
    if (text.starts_with('#')) return true;
    std::size_t length = 0;
    while (length < text.size() && (is_ascii_letter(text[length]) || (text[length] >= '0' && text[length] <= '9')))
        ++length;
    if (length > 0 && length < text.size() && text[length] == ';') return true;
    for (auto names = lasting_references; !names.empty(); names.remove_prefix(names.find(' ') + 1))
        if (text.starts_with(names.substr(0, names.find(' ')))) return true;
    return false;
}

/// Whether HTML takes the beginning of a text for a tag, a comment or a reference to a character (HTML, section 13.2.5,
/// "Tag open state").
inline bool begins_html_markup(std::string_view text) noexcept {
    if (text.size() < 2) return false;
    char const next = text[1];
    if (text.front() == '<') return is_ascii_letter(next) || next == '/' || next == '!' || next == '?';
    return text.front() == '&' && completes_reference(text.substr(1));
}

} // namespace ipybox::detail
