#pragma once

#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/core/result.hpp>

#include <curl/curl.h>

#include <string>
#include <type_traits>

#if defined(IPYBOX_CURL_ON_DEMAND)
#include <dlfcn.h>
#endif

namespace ipybox::http::detail {

/**
 * \brief The functions of libcurl that are used.
 * \details With IPYBOX_CURL_ON_DEMAND the library is loaded for the first request: with the thirty libraries behind it,
 * it would take a program ten milliseconds of its start, also where no server is reached over HTTP. It is not unloaded:
 * other parts of the program may use it.
 */
struct curl_library {
    decltype(&::curl_global_init) global_init;
    decltype(&::curl_free) free;
    decltype(&::curl_slist_append) slist_append;
    decltype(&::curl_slist_free_all) slist_free_all;
    decltype(&::curl_url) url;
    decltype(&::curl_url_cleanup) url_cleanup;
    decltype(&::curl_url_get) url_get;
    decltype(&::curl_url_set) url_set;
    decltype(&::curl_url_strerror) url_strerror;
    decltype(&::curl_easy_init) easy_init;
    decltype(&::curl_easy_cleanup) easy_cleanup;
    decltype(&::curl_easy_setopt) easy_setopt;
    decltype(&::curl_easy_getinfo) easy_getinfo;
    decltype(&::curl_easy_pause) easy_pause;
    decltype(&::curl_easy_strerror) easy_strerror;
    decltype(&::curl_multi_init) multi_init;
    decltype(&::curl_multi_cleanup) multi_cleanup;
    decltype(&::curl_multi_add_handle) multi_add_handle;
    decltype(&::curl_multi_remove_handle) multi_remove_handle;
    decltype(&::curl_multi_perform) multi_perform;
    decltype(&::curl_multi_poll) multi_poll;
    decltype(&::curl_multi_wakeup) multi_wakeup;
    decltype(&::curl_multi_info_read) multi_info_read;
};

#if defined(IPYBOX_CURL_ON_DEMAND)
inline result<curl_library> load_curl() {
    constexpr char const* name = "libcurl.so.4";
    void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        char const* const why = ::dlerror();
        return failure(errc::mcp_unreachable,
                       std::string("cannot be reached: libcurl cannot be loaded, install it: ") + (why ? why : name));
    }
    curl_library loaded{};
    bool is_whole = true;
    auto const find = [&](auto& function, char const* symbol) {
        void* const address = ::dlsym(library, symbol);
        is_whole = is_whole && address;
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    find(loaded.global_init, "curl_global_init");
    find(loaded.free, "curl_free");
    find(loaded.slist_append, "curl_slist_append");
    find(loaded.slist_free_all, "curl_slist_free_all");
    find(loaded.url, "curl_url");
    find(loaded.url_cleanup, "curl_url_cleanup");
    find(loaded.url_get, "curl_url_get");
    find(loaded.url_set, "curl_url_set");
    find(loaded.url_strerror, "curl_url_strerror");
    find(loaded.easy_init, "curl_easy_init");
    find(loaded.easy_cleanup, "curl_easy_cleanup");
    find(loaded.easy_setopt, "curl_easy_setopt");
    find(loaded.easy_getinfo, "curl_easy_getinfo");
    find(loaded.easy_pause, "curl_easy_pause");
    find(loaded.easy_strerror, "curl_easy_strerror");
    find(loaded.multi_init, "curl_multi_init");
    find(loaded.multi_cleanup, "curl_multi_cleanup");
    find(loaded.multi_add_handle, "curl_multi_add_handle");
    find(loaded.multi_remove_handle, "curl_multi_remove_handle");
    find(loaded.multi_perform, "curl_multi_perform");
    find(loaded.multi_poll, "curl_multi_poll");
    find(loaded.multi_wakeup, "curl_multi_wakeup");
    find(loaded.multi_info_read, "curl_multi_info_read");
    if (!is_whole) return failure(errc::mcp_unreachable, "cannot be reached: libcurl is older than 7.85");
    return loaded;
}
#else
inline result<curl_library> load_curl() {
    return curl_library{&::curl_global_init,
                        &::curl_free,
                        &::curl_slist_append,
                        &::curl_slist_free_all,
                        &::curl_url,
                        &::curl_url_cleanup,
                        &::curl_url_get,
                        &::curl_url_set,
                        &::curl_url_strerror,
                        &::curl_easy_init,
                        &::curl_easy_cleanup,
                        &::curl_easy_setopt,
                        &::curl_easy_getinfo,
                        &::curl_easy_pause,
                        &::curl_easy_strerror,
                        &::curl_multi_init,
                        &::curl_multi_cleanup,
                        &::curl_multi_add_handle,
                        &::curl_multi_remove_handle,
                        &::curl_multi_perform,
                        &::curl_multi_poll,
                        &::curl_multi_wakeup,
                        &::curl_multi_info_read};
}
#endif

/// The library, initialised; loaded by the first call. \par Errors errc::mcp_unreachable
inline result<curl_library> const& loaded_curl() {
    auto const load = [] {
        auto library = load_curl();
        if (library && library->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
            library = failure(errc::mcp_unreachable, "cannot be reached: libcurl cannot be initialised");
        return library;
    };
    static auto const& loaded = ipybox::detail::never_destroyed<result<curl_library>>(load());
    return loaded;
}

/// The same for those who come behind one that looked.
inline curl_library const& curl() { return *loaded_curl(); }

} // namespace ipybox::http::detail
