#pragma once

// Written by tools/write_filter_blocks.py (./dev embed) from python/ipybox_kernel/filters.py: change it there.

#include <cstdint>
#include <span>
#include <string_view>

namespace ipybox::detail {

/// One instruction of classic BPF, as the kernel takes it (struct sock_filter).
struct filter_step {
    std::uint16_t code;
    std::uint8_t yes;
    std::uint8_t no;
    std::uint32_t value;
};

/// A part of the base filter. Those that have the name of a system_access are left out where it is allowed.
struct filter_block {
    std::string_view name;
    std::span<filter_step const> steps;
};

// clang-format off
inline constexpr filter_step filter_begin_x86_64[] = {
    {0x20, 0, 0, 0x00000004},
    {0x15, 1, 0, 0xc000003e},
    {0x06, 0, 0, 0x80000000},
    {0x20, 0, 0, 0x00000000},
    {0x35, 0, 1, 0x40000000},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_always_x86_64[] = {
    {0x15, 28, 0, 0x00000141},
    {0x15, 27, 0, 0x00000143},
    {0x15, 26, 0, 0x000000f8},
    {0x15, 25, 0, 0x000000f9},
    {0x15, 24, 0, 0x000000fa},
    {0x15, 23, 0, 0x0000012c},
    {0x15, 22, 0, 0x000000af},
    {0x15, 21, 0, 0x00000139},
    {0x15, 20, 0, 0x000000b0},
    {0x15, 19, 0, 0x000000f6},
    {0x15, 18, 0, 0x00000140},
    {0x15, 17, 0, 0x000000a9},
    {0x15, 16, 0, 0x000000a7},
    {0x15, 15, 0, 0x000000a8},
    {0x15, 14, 0, 0x000000a3},
    {0x15, 13, 0, 0x000000b3},
    {0x15, 12, 0, 0x000001bb},
    {0x15, 11, 0, 0x00000130},
    {0x15, 10, 0, 0x0000012f},
    {0x15, 9, 0, 0x000000a4},
    {0x15, 8, 0, 0x000000e3},
    {0x15, 7, 0, 0x00000131},
    {0x15, 6, 0, 0x0000009f},
    {0x15, 5, 0, 0x00000067},
    {0x15, 4, 0, 0x000000ac},
    {0x15, 3, 0, 0x000000ad},
    {0x15, 2, 0, 0x0000009a},
    {0x15, 1, 0, 0x00000086},
    {0x15, 0, 1, 0x00000099},
    {0x06, 0, 0, 0x00050001},
    {0x15, 0, 10, 0x00000029},
    {0x20, 0, 0, 0x00000010},
    {0x15, 7, 0, 0x00000001},
    {0x15, 6, 0, 0x00000002},
    {0x15, 5, 0, 0x0000000a},
    {0x15, 1, 0, 0x00000010},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000020},
    {0x15, 1, 0, 0x00000000},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 4, 0x00000035},
    {0x20, 0, 0, 0x00000010},
    {0x15, 1, 0, 0x00000001},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 5, 0x00000010},
    {0x20, 0, 0, 0x00000018},
    {0x15, 1, 0, 0x00005412},
    {0x15, 0, 1, 0x0000541c},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 8, 0x0000012e},
    {0x20, 0, 0, 0x00000010},
    {0x15, 5, 0, 0x00000000},
    {0x20, 0, 0, 0x00000020},
    {0x15, 0, 2, 0x00000000},
    {0x20, 0, 0, 0x00000024},
    {0x15, 1, 0, 0x00000000},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000}};
inline constexpr filter_step filter_unix_sockets_x86_64[] = {
    {0x15, 0, 4, 0x00000029},
    {0x20, 0, 0, 0x00000010},
    {0x15, 0, 1, 0x00000001},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 6, 0x00000035},
    {0x20, 0, 0, 0x00000018},
    {0x54, 0, 0, 0x0000000f},
    {0x15, 2, 0, 0x00000001},
    {0x15, 1, 0, 0x00000005},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000}};
inline constexpr filter_step filter_user_namespaces_x86_64[] = {
    {0x15, 0, 4, 0x00000038},
    {0x20, 0, 0, 0x00000010},
    {0x45, 0, 1, 0x7e020000},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 4, 0x00000110},
    {0x20, 0, 0, 0x00000010},
    {0x45, 0, 1, 0x7e020080},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 1, 0x000001b3},
    {0x06, 0, 0, 0x00050026},
    {0x15, 12, 0, 0x00000134},
    {0x15, 11, 0, 0x000000a5},
    {0x15, 10, 0, 0x000000a6},
    {0x15, 9, 0, 0x0000009b},
    {0x15, 8, 0, 0x000000a1},
    {0x15, 7, 0, 0x000001ac},
    {0x15, 6, 0, 0x000001d3},
    {0x15, 5, 0, 0x000001ad},
    {0x15, 4, 0, 0x000001ae},
    {0x15, 3, 0, 0x000001af},
    {0x15, 2, 0, 0x000001b0},
    {0x15, 1, 0, 0x000001b1},
    {0x15, 0, 1, 0x000001ba},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_ptrace_x86_64[] = {
    {0x15, 5, 0, 0x00000065},
    {0x15, 4, 0, 0x00000136},
    {0x15, 3, 0, 0x00000137},
    {0x15, 2, 0, 0x000001b8},
    {0x15, 1, 0, 0x00000138},
    {0x15, 0, 1, 0x000001b6},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_io_uring_x86_64[] = {
    {0x15, 2, 0, 0x000001a9},
    {0x15, 1, 0, 0x000001aa},
    {0x15, 0, 1, 0x000001ab},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_perf_events_x86_64[] = {
    {0x15, 0, 1, 0x0000012a},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_no_internet_x86_64[] = {
    {0x15, 0, 5, 0x00000029},
    {0x20, 0, 0, 0x00000010},
    {0x15, 1, 0, 0x00000002},
    {0x15, 0, 1, 0x0000000a},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000}};
inline constexpr filter_step filter_end_x86_64[] = {
    {0x06, 0, 0, 0x7fff0000}};
inline constexpr filter_block filter_of_x86_64[] = {
    {"begin", filter_begin_x86_64},
    {"always", filter_always_x86_64},
    {"unix-sockets", filter_unix_sockets_x86_64},
    {"user-namespaces", filter_user_namespaces_x86_64},
    {"ptrace", filter_ptrace_x86_64},
    {"io-uring", filter_io_uring_x86_64},
    {"perf-events", filter_perf_events_x86_64},
    {"no-internet", filter_no_internet_x86_64},
    {"end", filter_end_x86_64}};

inline constexpr filter_step filter_begin_aarch64[] = {
    {0x20, 0, 0, 0x00000004},
    {0x15, 1, 0, 0xc00000b7},
    {0x06, 0, 0, 0x80000000},
    {0x20, 0, 0, 0x00000000}};
inline constexpr filter_step filter_always_aarch64[] = {
    {0x15, 24, 0, 0x00000118},
    {0x15, 23, 0, 0x0000011a},
    {0x15, 22, 0, 0x000000d9},
    {0x15, 21, 0, 0x000000da},
    {0x15, 20, 0, 0x000000db},
    {0x15, 19, 0, 0x00000106},
    {0x15, 18, 0, 0x00000069},
    {0x15, 17, 0, 0x00000111},
    {0x15, 16, 0, 0x0000006a},
    {0x15, 15, 0, 0x00000068},
    {0x15, 14, 0, 0x00000126},
    {0x15, 13, 0, 0x0000008e},
    {0x15, 12, 0, 0x000000e0},
    {0x15, 11, 0, 0x000000e1},
    {0x15, 10, 0, 0x00000059},
    {0x15, 9, 0, 0x0000003c},
    {0x15, 8, 0, 0x000001bb},
    {0x15, 7, 0, 0x00000109},
    {0x15, 6, 0, 0x00000108},
    {0x15, 5, 0, 0x000000aa},
    {0x15, 4, 0, 0x00000070},
    {0x15, 3, 0, 0x0000010a},
    {0x15, 2, 0, 0x000000ab},
    {0x15, 1, 0, 0x00000074},
    {0x15, 0, 1, 0x0000003a},
    {0x06, 0, 0, 0x00050001},
    {0x15, 0, 10, 0x000000c6},
    {0x20, 0, 0, 0x00000010},
    {0x15, 7, 0, 0x00000001},
    {0x15, 6, 0, 0x00000002},
    {0x15, 5, 0, 0x0000000a},
    {0x15, 1, 0, 0x00000010},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000020},
    {0x15, 1, 0, 0x00000000},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 4, 0x000000c7},
    {0x20, 0, 0, 0x00000010},
    {0x15, 1, 0, 0x00000001},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 5, 0x0000001d},
    {0x20, 0, 0, 0x00000018},
    {0x15, 1, 0, 0x00005412},
    {0x15, 0, 1, 0x0000541c},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 8, 0x00000105},
    {0x20, 0, 0, 0x00000010},
    {0x15, 5, 0, 0x00000000},
    {0x20, 0, 0, 0x00000020},
    {0x15, 0, 2, 0x00000000},
    {0x20, 0, 0, 0x00000024},
    {0x15, 1, 0, 0x00000000},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000}};
inline constexpr filter_step filter_unix_sockets_aarch64[] = {
    {0x15, 0, 4, 0x000000c6},
    {0x20, 0, 0, 0x00000010},
    {0x15, 0, 1, 0x00000001},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 6, 0x000000c7},
    {0x20, 0, 0, 0x00000018},
    {0x54, 0, 0, 0x0000000f},
    {0x15, 2, 0, 0x00000001},
    {0x15, 1, 0, 0x00000005},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000}};
inline constexpr filter_step filter_user_namespaces_aarch64[] = {
    {0x15, 0, 4, 0x000000dc},
    {0x20, 0, 0, 0x00000010},
    {0x45, 0, 1, 0x7e020000},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 4, 0x00000061},
    {0x20, 0, 0, 0x00000010},
    {0x45, 0, 1, 0x7e020080},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000},
    {0x15, 0, 1, 0x000001b3},
    {0x06, 0, 0, 0x00050026},
    {0x15, 12, 0, 0x0000010c},
    {0x15, 11, 0, 0x00000028},
    {0x15, 10, 0, 0x00000027},
    {0x15, 9, 0, 0x00000029},
    {0x15, 8, 0, 0x00000033},
    {0x15, 7, 0, 0x000001ac},
    {0x15, 6, 0, 0x000001d3},
    {0x15, 5, 0, 0x000001ad},
    {0x15, 4, 0, 0x000001ae},
    {0x15, 3, 0, 0x000001af},
    {0x15, 2, 0, 0x000001b0},
    {0x15, 1, 0, 0x000001b1},
    {0x15, 0, 1, 0x000001ba},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_ptrace_aarch64[] = {
    {0x15, 5, 0, 0x00000075},
    {0x15, 4, 0, 0x0000010e},
    {0x15, 3, 0, 0x0000010f},
    {0x15, 2, 0, 0x000001b8},
    {0x15, 1, 0, 0x00000110},
    {0x15, 0, 1, 0x000001b6},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_io_uring_aarch64[] = {
    {0x15, 2, 0, 0x000001a9},
    {0x15, 1, 0, 0x000001aa},
    {0x15, 0, 1, 0x000001ab},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_perf_events_aarch64[] = {
    {0x15, 0, 1, 0x000000f1},
    {0x06, 0, 0, 0x00050001}};
inline constexpr filter_step filter_no_internet_aarch64[] = {
    {0x15, 0, 5, 0x000000c6},
    {0x20, 0, 0, 0x00000010},
    {0x15, 1, 0, 0x00000002},
    {0x15, 0, 1, 0x0000000a},
    {0x06, 0, 0, 0x00050001},
    {0x20, 0, 0, 0x00000000}};
inline constexpr filter_step filter_end_aarch64[] = {
    {0x06, 0, 0, 0x7fff0000}};
inline constexpr filter_block filter_of_aarch64[] = {
    {"begin", filter_begin_aarch64},
    {"always", filter_always_aarch64},
    {"unix-sockets", filter_unix_sockets_aarch64},
    {"user-namespaces", filter_user_namespaces_aarch64},
    {"ptrace", filter_ptrace_aarch64},
    {"io-uring", filter_io_uring_aarch64},
    {"perf-events", filter_perf_events_aarch64},
    {"no-internet", filter_no_internet_aarch64},
    {"end", filter_end_aarch64}};

// clang-format on

} // namespace ipybox::detail
