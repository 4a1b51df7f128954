#pragma once

#include <ipybox/approval/plain_character.hpp>

#include <algorithm>
#include <array>

namespace ipybox::detail {

/// First and last of a range.
struct character_range {
    char32_t first;
    char32_t last;
};

IPYBOX_DECL bool is_plain_character(char32_t code) {
    // Of Latin, Greek, Cyrillic, Armenian, Chinese, Japanese and Korean writing, punctuation, symbols and pictures: the
    // general categories L, N, P and S of Unicode, except combining, right-to-left and blank ones, modifiers of
    // pictures, and lines and blocks for drawing.
    static constexpr auto ranges = std::to_array<character_range>(
        {{0x20, 0x7E},       {0xA1, 0xAC},       {0xAE, 0x2AF},      {0x370, 0x377},     {0x37A, 0x37F},
         {0x384, 0x38A},     {0x38C, 0x38C},     {0x38E, 0x3A1},     {0x3A3, 0x482},     {0x48A, 0x52F},
         {0x531, 0x556},     {0x559, 0x58A},     {0x58D, 0x58F},     {0x1E00, 0x1EFF},   {0x2010, 0x2027},
         {0x2030, 0x205E},   {0x2070, 0x2071},   {0x2074, 0x208E},   {0x2090, 0x209C},   {0x20A0, 0x20C0},
         {0x2100, 0x218B},   {0x2190, 0x2426},   {0x2440, 0x244A},   {0x2460, 0x24FF},   {0x25A0, 0x27FF},
         {0x2801, 0x2B73},   {0x2B76, 0x2B95},   {0x2B97, 0x2BFF},   {0x3001, 0x3029},   {0x3030, 0x303F},
         {0x3041, 0x3096},   {0x309B, 0x30FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xAC00, 0xD7A3},
         {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F3FA}, {0x1F400, 0x1F64F}, {0x1F680, 0x1F6D7},
         {0x1F6DD, 0x1F6EC}, {0x1F6F0, 0x1F6FC}, {0x1F900, 0x1F9FF}});
    static_assert(std::is_sorted(ranges.begin(), ranges.end(), [](auto a, auto b) { return a.last < b.first; }));
    auto const* const range =
        std::lower_bound(ranges.begin(), ranges.end(), code, [](character_range r, char32_t c) { return r.last < c; });
    return range != ranges.end() && range->first <= code;
}

} // namespace ipybox::detail
