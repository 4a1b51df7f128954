#pragma once

#include <ipybox/async/blocked_signals.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/http/client.hpp>
#include <ipybox/http/impl/curl_library.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::http {
namespace detail {

struct curl_easy_end {
    void operator()(CURL* handle) const noexcept { curl().easy_cleanup(handle); }
};
struct curl_list_end {
    void operator()(curl_slist* list) const noexcept { curl().slist_free_all(list); }
};
struct curl_multi_end {
    void operator()(CURLM* handle) const noexcept { curl().multi_cleanup(handle); }
};

struct shared_client {
    std::mutex mutex;
    std::weak_ptr<client> one;
};

/// The reason for the end of a transfer, as a sentence about the server goes on.
inline error error_of(CURLcode code, std::string_view detail) {
    auto why = std::string(detail.empty() ? curl().easy_strerror(code) : detail);
    while (!why.empty() && (why.back() == '\n' || why.back() == '.')) why.pop_back();
    if (code == CURLE_OPERATION_TIMEDOUT) return {errc::timed_out, "did not answer in time: " + why};
    // libcurl says the same of a line that it has no room for.
    if (code == CURLE_OUT_OF_MEMORY) why = "out of memory, or a header field of more than 100 KiB";
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
        return {errc::mcp_unreachable, "cannot be trusted: " + why};
    return {errc::mcp_unreachable, "cannot be reached: " + why};
}

} // namespace detail

struct client::handles {
    std::unique_ptr<CURLM, detail::curl_multi_end> multi{detail::curl().multi_init()};
};

/// What is asked of the thread. None of those that hold it, of which the thread is one, is the last to hold a client:
/// the thread cannot wait for its own end.
struct client::orders {
    explicit orders(CURLM* m) : multi(m) {}

    void add(std::vector<number> orders::* list, number of) {
        if (!owner.is_this()) return; // in a fork, where the mutex may be locked for ever
        std::scoped_lock const lock(mutex);
        if (is_stopping) return;
        (this->*list).push_back(of);
        wake();
    }

    /// With the mutex locked, or as the client: the handle ends with it.
    void wake() const noexcept { detail::curl().multi_wakeup(multi); }

    ipybox::detail::owning_process const owner;
    CURLM* const multi;
    std::mutex mutex;
    std::vector<std::unique_ptr<transfer>> to_start;
    std::vector<number> to_drop;
    std::vector<number> to_leave;
    std::vector<number> to_resume;
    number last = 0;
    bool is_stopping = false;
};

/// One request and its answer, in the client's thread.
struct client::transfer {
    transfer(number n, request r, std::shared_ptr<response> const& t) : id(n), wanted(std::move(r)), to(t) {}

    /// Header fields of one answer: those of an answer that comes before the real one (100, 103) are dropped.
    void take_line(std::string_view line) {
        while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
        if (line.starts_with("HTTP/")) {
            head = response_head();
            return;
        }
        if (line.empty()) return end_head();
        auto const colon = line.find(':');
        if (colon == std::string_view::npos || has_head) return;
        auto value = line.substr(colon + 1);
        while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
        while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
        head.headers.add(std::string(line.substr(0, colon)), std::string(value));
    }

    void end_head() {
        long status = 0;
        detail::curl().easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
        constexpr long first_final = 200;
        if (has_head || status < first_final) return;
        has_head = true;
        head.status = static_cast<int>(status);
        if (auto const open = to.lock()) open->take_head(head);
    }

    static std::size_t on_header(char const* data, std::size_t, std::size_t size, void* self) {
        auto& own = *static_cast<transfer*>(self);
        own.head_size += size;
        if (own.head_size > longest_head) return 0;
        own.take_line({data, size});
        return size;
    }

    /// The reason for the end of the transfer, if it is not that the answer is complete.
    [[nodiscard]] std::optional<error> why_ended(CURLcode code) const {
        if (head_size > longest_head)
            return error(errc::message_too_large,
                         "sent header fields of more than " + std::to_string(longest_head) + " bytes");
        if (code != CURLE_OK) return detail::error_of(code, why.data());
        if (!has_head) return error(errc::protocol_error, "answered without a status of HTTP");
        return std::nullopt;
    }

    static std::size_t on_body(char const* data, std::size_t, std::size_t size, void* self) {
        auto const& own = *static_cast<transfer*>(self);
        if (own.left) return size;
        auto const open = own.to.lock();
        if (!open) return 0; // it is dropped soon
        return open->take({data, size}) ? size : std::size_t(CURL_WRITEFUNC_PAUSE);
    }

    void finish(std::optional<error> how) const {
        if (auto const open = to.lock()) open->finish(std::move(how));
    }

    /// Bytes of all header fields of an answer, with those of answers before the real one.
    static constexpr std::size_t longest_head = std::size_t(256) << 10;

    number const id;
    request const wanted;
    std::weak_ptr<response> const to;
    std::unique_ptr<CURL, detail::curl_easy_end> easy{detail::curl().easy_init()};
    std::unique_ptr<curl_slist, detail::curl_list_end> headers;
    std::array<char, CURL_ERROR_SIZE> why{};
    response_head head;
    std::size_t head_size = 0;
    bool has_head = false;
    std::optional<std::chrono::steady_clock::time_point> left; ///< when it was: its answer is read for no one
};

IPYBOX_DECL std::shared_ptr<client> client::shared() {
    static auto& of_process = ipybox::detail::never_destroyed<detail::shared_client>();
    std::scoped_lock const lock(of_process.mutex);
    auto found = of_process.one.lock();
    if (found && found->owner_.is_this()) return found;
    auto made = std::make_shared<client>();
    of_process.one = made;
    return made;
}

IPYBOX_DECL client::client() {
    handles_ = std::make_unique<handles>();
    if (!handles_->multi) throw std::bad_alloc();
    orders_ = std::make_shared<orders>(handles_->multi.get());
    ipybox::detail::blocked_signals const blocked; // SIGPIPE too, which TLS may raise
    thread_ = std::thread([this] { run(); });
}

IPYBOX_DECL client::~client() {
    if (!owner_.is_this()) { // a fork has no thread that works on them, and libcurl's state is that of the parent
        thread_.detach();
        (void)handles_.release(); // NOLINT(bugprone-unused-return-value)
        for (auto& [of, one] : running_) (void)one.release();
        for (auto& one : orders_->to_start) (void)one.release();
        return;
    }
    {
        std::scoped_lock const lock(orders_->mutex);
        orders_->is_stopping = true;
        orders_->wake();
    }
    thread_.join();
    error const why(errc::cancelled, "the answer is not waited for");
    for (auto& [of, one] : running_) {
        detail::curl().multi_remove_handle(handles_->multi.get(), one->easy.get());
        one->finish(why);
    }
    for (auto const& one : std::exchange(orders_->to_start, {})) one->finish(why);
}

IPYBOX_DECL std::shared_ptr<response> client::begin(request wanted) {
    auto const to = std::make_shared<response>();
    std::scoped_lock const lock(orders_->mutex);
    auto one = std::make_unique<transfer>(++orders_->last, std::move(wanted), to);
    if (!one->easy) throw std::bad_alloc();
    auto const of = one->id;
    to->on_end_ = [all = orders_, of] { all->add(&orders::to_drop, of); };
    to->on_leave_ = [all = orders_, of] { all->add(&orders::to_leave, of); };
    to->on_room_ = [all = orders_, of] { all->add(&orders::to_resume, of); };
    orders_->to_start.push_back(std::move(one));
    orders_->wake();
    return to;
}

IPYBOX_DECL void client::run() {
    for (;;) {
        {
            std::scoped_lock const lock(orders_->mutex);
            if (orders_->is_stopping) return;
        }
        take_orders();
        int running = 0;
        detail::curl().multi_perform(handles_->multi.get(), &running);
        finish_ended();
        // Until it is woken, or a connection or a timeout of libcurl is due.
        detail::curl().multi_poll(handles_->multi.get(), nullptr, 0, static_cast<int>(drop_left().count()), nullptr);
    }
}

/// Drops answers that were left and do not end. The time until the next one is due.
IPYBOX_DECL std::chrono::milliseconds client::drop_left() {
    constexpr std::chrono::milliseconds hour = std::chrono::hours(1);
    constexpr std::chrono::milliseconds bound = std::chrono::seconds(1);
    auto next = hour;
    auto const now = std::chrono::steady_clock::now();
    std::vector<number> overdue;
    for (auto const& [of, one] : running_) {
        if (!one->left) continue;
        auto const rest = std::chrono::ceil<std::chrono::milliseconds>(*one->left + bound - now);
        if (rest.count() <= 0)
            overdue.push_back(of);
        else
            next = std::min(next, rest);
    }
    for (auto const of : overdue) drop(of);
    return next;
}

IPYBOX_DECL void client::take_orders() {
    std::vector<std::unique_ptr<transfer>> begun;
    std::vector<number> dropped;
    std::vector<number> left;
    std::vector<number> resumed;
    {
        std::scoped_lock const lock(orders_->mutex);
        begun = std::exchange(orders_->to_start, {});
        dropped = std::exchange(orders_->to_drop, {});
        left = std::exchange(orders_->to_leave, {});
        resumed = std::exchange(orders_->to_resume, {});
    }
    for (auto& one : begun) start(std::move(one));
    for (auto const of : dropped) drop(of);
    for (auto const of : left)
        if (auto const found = running_.find(of); found != running_.end()) {
            found->second->left = std::chrono::steady_clock::now();
            resumed.push_back(of);
        }
    for (auto const of : resumed)
        if (auto const found = running_.find(of); found != running_.end())
            detail::curl().easy_pause(found->second->easy.get(), CURLPAUSE_CONT);
}

IPYBOX_DECL void client::start(std::unique_ptr<transfer> one) {
    if (one->to.expired()) return;
    auto* const easy = one->easy.get();
    auto const& wanted = one->wanted;
    auto const set = [easy](CURLoption option, auto value) { detail::curl().easy_setopt(easy, option, value); };
    set(CURLOPT_URL, wanted.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_NODELAY, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_ERRORBUFFER, one->why.data());
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(clamped(wanted.connect_timeout).count()));
    if (wanted.timeout) set(CURLOPT_TIMEOUT_MS, static_cast<long>(clamped(*wanted.timeout).count()));
    if (!wanted.authorities.empty()) set(CURLOPT_CAINFO, wanted.authorities.c_str());
    set(CURLOPT_HEADERFUNCTION, &transfer::on_header);
    set(CURLOPT_HEADERDATA, one.get());
    set(CURLOPT_WRITEFUNCTION, &transfer::on_body);
    set(CURLOPT_WRITEDATA, one.get());
    if (wanted.method == "POST" || wanted.method == "PUT") {
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDS, wanted.body ? wanted.body->data() : "");
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(wanted.body ? wanted.body->size() : 0));
    }
    set(CURLOPT_CUSTOMREQUEST, wanted.method.c_str());
    auto const add = [&one](std::string const& line) {
        auto* const longer = detail::curl().slist_append(one->headers.get(), line.c_str());
        if (!longer) throw std::bad_alloc();
        (void)one->headers.release();
        one->headers.reset(longer);
    };
    try {
        // A field without a value is written with a semicolon.
        for (auto const& [name, value] : wanted.headers.all()) add(value.empty() ? name + ";" : name + ": " + value);
        add("Expect:"); // a body is sent at once
        set(CURLOPT_HTTPHEADER, one->headers.get());
        auto& kept = running_[one->id];
        kept = std::move(one);
    } catch (std::bad_alloc const&) {
        return one->finish(error(errc::mcp_unreachable, "cannot be reached: out of memory"));
    }
    detail::curl().multi_add_handle(handles_->multi.get(), easy);
}

IPYBOX_DECL void client::drop(number of) {
    auto const found = running_.find(of);
    if (found == running_.end()) return;
    auto const one = std::move(found->second);
    running_.erase(found);
    detail::curl().multi_remove_handle(handles_->multi.get(), one->easy.get());
}

IPYBOX_DECL void client::finish_ended() {
    int left = 0;
    while (auto const* const message = detail::curl().multi_info_read(handles_->multi.get(), &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        auto* const easy = message->easy_handle;
        auto const code = message->data.result;
        auto const found =
            std::ranges::find_if(running_, [easy](auto const& each) { return each.second->easy.get() == easy; });
        if (found == running_.end()) continue;
        auto const one = std::move(found->second);
        running_.erase(found);
        detail::curl().multi_remove_handle(handles_->multi.get(), easy);
        one->finish(one->why_ended(code));
    }
}

} // namespace ipybox::http
