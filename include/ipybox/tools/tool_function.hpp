#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/tools/tool_body.hpp>
#include <ipybox/tools/tool_context.hpp>
#include <ipybox/tools/tool_reply.hpp>
#include <ipybox/tools/tool_return.hpp>
#include <ipybox/tools/tool_value.hpp>

#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/** \file
 * Functions of the application as bodies of tools: what their signature says, and how arguments get into it.
 */

namespace ipybox::detail {

// --- signatures ----------------------------------------------------------------------------------------------------------

template <class R, class... Args>
struct signature {
    using result = R;
    using parameters = std::tuple<Args...>;
};

template <class F>
struct signature_of_call {};
template <class R, class... A>
struct signature_of_call<R (*)(A...)> : std::type_identity<signature<R, A...>> {};
template <class R, class... A>
struct signature_of_call<R (*)(A...) noexcept> : std::type_identity<signature<R, A...>> {};
template <class R, class C, class... A>
struct signature_of_call<R (C::*)(A...)> : std::type_identity<signature<R, A...>> {};
template <class R, class C, class... A>
struct signature_of_call<R (C::*)(A...) const> : std::type_identity<signature<R, A...>> {};
template <class R, class C, class... A>
struct signature_of_call<R (C::*)(A...) noexcept> : std::type_identity<signature<R, A...>> {};
template <class R, class C, class... A>
struct signature_of_call<R (C::*)(A...) const noexcept> : std::type_identity<signature<R, A...>> {};

template <class F>
concept one_call_operator = requires { &F::operator(); };

template <class F>
[[nodiscard]] consteval auto find_signature() {
    if constexpr (one_call_operator<F>)
        return typename signature_of_call<decltype(&F::operator())>::type();
    else if constexpr (requires { typename signature_of_call<F>::type; })
        return typename signature_of_call<F>::type();
    else {
        static_assert(one_call_operator<F>,
                      "a host tool is a function with one signature: a lambda without auto parameters, "
                      "a function pointer, or ipybox::host_tool::method(object, &type::name)");
        return signature<void>();
    }
}

/// Types that are not parameters of the tool.
template <class T>
inline constexpr bool is_reply = is_instance<std::remove_cvref_t<T>, tool_reply>;
template <class T>
inline constexpr bool is_context = std::same_as<std::remove_cvref_t<T>, tool_context>;
template <class T>
inline constexpr bool is_about_call = is_reply<T> || is_context<T>;

template <class Parameters>
struct parameter_facts;

template <class... A>
struct parameter_facts<std::tuple<A...>> {
    static constexpr std::array<bool, sizeof...(A) + 1> about_call{is_about_call<A>..., false};

    /// How many there are in front of what is about the call.
    static constexpr std::size_t count = [] {
        std::size_t n = 0;
        while (n < sizeof...(A) && !about_call[n]) ++n;
        return n;
    }();

    static constexpr bool in_order = [] {
        for (std::size_t i = count; i < sizeof...(A); ++i)
            if (!about_call[i]) return false;
        return true;
    }();

    static constexpr bool replies = (is_reply<A> || ...);
};

template <class T>
struct reply_value : std::type_identity<void> {};
template <class T>
struct reply_value<tool_reply<T>> : std::type_identity<T> {};

template <class T>
inline constexpr bool is_awaitable = false;
template <class T>
inline constexpr bool is_awaitable<asio::awaitable<T>> = true;

template <class T>
struct awaited_value : std::remove_cvref<T> {};
template <class T>
struct awaited_value<asio::awaitable<T>> : std::type_identity<T> {};

/// The properties of a function as a tool.
template <class F>
struct tool_function {
    using own = decltype(find_signature<F>());
    using parameters = typename own::parameters;
    using facts = parameter_facts<parameters>;

    static_assert(facts::in_order, "tool_context and tool_reply stand behind the other parameters of a host tool");
    static_assert(!facts::replies || std::is_void_v<typename own::result>,
                  "a host tool with a tool_reply returns void: it answers by the reply");

    template <std::size_t I>
    using parameter = std::remove_cvref_t<std::tuple_element_t<I, parameters>>;

    template <std::size_t... I>
    static auto last_of(std::index_sequence<I...>) {
        if constexpr (facts::replies) {
            std::tuple<std::type_identity<parameter<I>>...> all;
            return find_reply(all);
        } else {
            return std::type_identity<typename awaited_value<typename own::result>::type>();
        }
    }

    template <class... P>
    static auto find_reply(std::tuple<std::type_identity<P>...> const&) {
        return find_reply_among<P...>();
    }
    template <class P, class... Rest>
    static auto find_reply_among() {
        if constexpr (is_reply<P>)
            return reply_value<P>();
        else
            return find_reply_among<Rest...>();
    }

    /// The result of the tool, however it returns it.
    using returned = typename decltype(last_of(std::make_index_sequence<std::tuple_size_v<parameters>>()))::type;

    static constexpr std::size_t count = facts::count;
    static constexpr tool_style style = facts::replies                       ? tool_style::callback
                                        : is_awaitable<typename own::result> ? tool_style::coroutine
                                                                             : tool_style::blocking;
};

// --- arguments -----------------------------------------------------------------------------------------------------------

/// The parameter schema of a function whose parameters have these names.
template <class F, std::size_t... I>
[[nodiscard]] nlohmann::ordered_json parameters_schema(std::span<std::string const> names,
                                                       std::span<std::string const> descriptions,
                                                       std::index_sequence<I...>) {
    tool_definitions definitions;
    object_schema parameters;
    [[maybe_unused]] auto const add = [&]<class T>(std::type_identity<T>, std::size_t i) {
        static_assert(require_described<T>());
        auto schema = described(schema_of<T>(definitions), descriptions[i]);
        parameters.add(names[i], std::move(schema), !is_instance<T, std::optional>);
    };
    (add(std::type_identity<typename tool_function<F>::template parameter<I>>(), I), ...);
    return definitions.complete(std::move(parameters).take());
}

/// The schema of a struct whose members are the parameters.
template <class T>
[[nodiscard]] nlohmann::ordered_json members_schema() {
    tool_definitions definitions;
    auto const reference = schema_of<T>(definitions);
    return definitions.complete(struct_schema<T>(definitions), reference);
}

/// A function with its arguments by name, or as one value where there are no names.
template <class F>
class function_body final : public tool_body {
    using function = tool_function<F>;
    using parameters = typename function::parameters;

    template <std::size_t... I>
    static auto values_type(std::index_sequence<I...>) -> std::tuple<typename function::template parameter<I>...>;
    using indices = std::make_index_sequence<std::tuple_size_v<parameters>>;
    using values = decltype(values_type(indices()));

  public:
    explicit function_body(F f, std::vector<std::string> names) : function_(std::move(f)), names_(std::move(names)) {}

    [[nodiscard]] tool_style style() const noexcept override { return function::style; }

    [[nodiscard]] bool is_empty() const noexcept override {
        if constexpr (std::is_pointer_v<F> || is_instance<F, std::function>)
            return !function_;
        else
            return false;
    }

    void call(std::shared_ptr<host_call> const& call, nlohmann::json arguments) override {
        if constexpr (function::style != tool_style::coroutine) {
            auto own = read(call, arguments, indices());
            arguments = nullptr;
            if constexpr (function::style == tool_style::callback) {
                invoke(own, indices());
            } else if constexpr (std::is_void_v<typename function::returned>) {
                invoke(own, indices());
                answer(*call, tool_result::value(nullptr));
            } else {
                answer(*call, to_tool_result(invoke(own, indices())));
            }
        }
    }

    asio::awaitable<tool_result> begin([[maybe_unused]] std::shared_ptr<tool_body> self,
                                       [[maybe_unused]] std::shared_ptr<host_call> call,
                                       [[maybe_unused]] nlohmann::json arguments) override {
        // The coroutine of the function refers to all of these.
        if constexpr (function::style == tool_style::coroutine) {
            auto own = read(call, arguments, indices());
            arguments = nullptr;
            call.reset();
            auto work = invoke(own, indices());
            if constexpr (std::is_void_v<typename function::returned>) {
                co_await std::move(work);
                co_return tool_result::value(nullptr);
            } else {
                auto returned = co_await std::move(work);
                co_return to_tool_result(std::move(returned));
            }
        }
        co_return tool_result();
    }

  private:
    template <std::size_t I>
    auto value(std::shared_ptr<host_call> const& call, nlohmann::json const& arguments) const {
        using type = typename function::template parameter<I>;
        if constexpr (is_about_call<type>) {
            return type(call);
        } else if (names_.empty()) {
            return value_from<type>(arguments, budget_of(*call));
        } else {
            auto const found = arguments.find(names_[I]);
            if constexpr (is_instance<type, std::optional>)
                if (found == arguments.end()) return type();
            if (found == arguments.end()) throw std::invalid_argument("the arguments lack " + names_[I]);
            return value_at<type>(names_[I], *found, budget_of(*call));
        }
    }

    template <std::size_t... I>
    values read(std::shared_ptr<host_call> const& call, nlohmann::json const& arguments,
                std::index_sequence<I...>) const {
        return values{value<I>(call, arguments)...};
    }

    template <std::size_t... I>
    decltype(auto) invoke(values& own, std::index_sequence<I...>) {
        return function_(std::forward<std::tuple_element_t<I, parameters>>(std::get<I>(own))...);
    }

    F function_;
    std::vector<std::string> const names_;
};

} // namespace ipybox::detail
