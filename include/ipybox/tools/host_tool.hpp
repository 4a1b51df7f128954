#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/tool.hpp>
#include <ipybox/tools/tool_body.hpp>
#include <ipybox/tools/tool_context.hpp>
#include <ipybox/tools/tool_executor.hpp>
#include <ipybox/tools/tool_function.hpp>
#include <ipybox/tools/tool_reply.hpp>
#include <ipybox/tools/tool_result.hpp>
#include <ipybox/tools/tool_type.hpp>

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

template <class T, class Method, class R, class... Args>
struct bound_method {
    T object; ///< a pointer of any kind
    Method function;
    R operator()(Args... arguments) const { return ((*object).*function)(std::forward<Args>(arguments)...); }
};

template <class T>
auto pointer_to(T&& object) {
    if constexpr (requires { *object; }) {
        return std::remove_cvref_t<T>(object); // a pointer already
    } else {
        static_assert(std::is_lvalue_reference_v<T>,
                      "the object of host_tool::method would be gone: name it, or give a pointer that shares it");
        return &object;
    }
}

} // namespace detail

/**
 * \brief A function of the application that code calls as a tool: `executor_base::add_tool` offers it.
 * \details A function returns a value, nothing, a `tool_result`, or a `result` of these; or an `asio::awaitable` of
 * them; or it answers by the `tool_reply` that is its last parameter. One that has a `tool_context` among its last
 * parameters is told when it is not wanted any more, and reports how far it has come. Arguments are checked by the
 * schema before the function is called. An exception is the failure of the call, and its `what()` is for the code.
 * \par Thread safety The function may be called several times at once, unless its executor runs one thing after the
 * other.
 * \par Object lifetimes The function lives until it is removed or the executor ends, and as long as one of its calls:
 * the executor's destructor waits for functions that run for a second at most. A function shares ownership of objects
 * that it uses and that may go before it.
 * \par Example
 * \snippet 17_host_function.cpp tool
 */
class host_tool {
  public:
    /// A parameter, by its name in Python.
    struct parameter {
        /// A parameter without a description.
        parameter(char const* own_name) : name(own_name) {}
        /// A parameter with a description for the code.
        parameter(char const* own_name, char const* about) : name(own_name), description(about) {}

        /// Its name in Python.
        std::string name;
        /// Its description, for the code.
        std::string description;
    };

    /**
     * \brief How a tool is called, and what is said of it.
     * \par Example
     * \snippet 18_host_object.cpp loop
     */
    struct options {
        /// The Asio executor on which it is called, or a function that has work done elsewhere:
        /// `[window](auto work) { QMetaObject::invokeMethod(window, work); }`, which may be called from any thread.
        /// Work that such a function drops fails its call. None: functions that block are called on threads of the
        /// session, at most 64 of them at once, and those that answer later on the executor's own strand, which they
        /// must not hold up. `own_strand()`: there too, for a function that returns at once.
        detail::tool_executor executor = {};
        /// Its name for people.
        std::string title = {};
        /// Whether it changes nothing.
        std::optional<bool> read_only = {};
        /// Whether it may destroy something.
        std::optional<bool> destructive = {};
        /// Whether calling it twice does no more than calling it once.
        std::optional<bool> idempotent = {};
        /// Whether it deals with what is outside of the application.
        std::optional<bool> open_world = {};
    };

    /// The strand of the executor that the tool was added to, as `options::executor`: it spares a function that returns
    /// at once the change to a thread and back. All else that this executor does waits for the function, its destructor
    /// too, without a bound where it has a thread of its own. A blocking operation of the executor fails in the
    /// function, with errc::would_deadlock.
    [[nodiscard]] static detail::tool_executor own_strand() { return detail::tool_executor::own_strand(); }

    /**
     * \brief A function with a name for each of its parameters. Their schema follows from the types:
     * docs/host_tools.md, section 2.
     * \param name the name that code calls
     * \param description for the code, and for models
     * \param parameters names, or `{name, description}`; a parameter whose type is `std::optional` may be left out
     * \param function what is called
     * \param chosen its executor, and what it says about its effects
     */
    template <std::size_t N, class F>
    host_tool(std::string name, std::string description, parameter const (&parameters)[N], F function, options chosen)
        : host_tool(std::move(name), std::move(description), std::move(chosen)) {
        using traits = detail::tool_function<F>;
        static_assert(N == traits::count, "a host tool has a name for each parameter of its function");
        std::vector<std::string> names;
        std::vector<std::string> about;
        for (auto const& each : parameters) {
            names.push_back(each.name);
            about.push_back(each.description);
        }
        wrong_ = wrong_with(names);
        listed_.input_schema = detail::parameters_schema<F>(names, about, std::make_index_sequence<traits::count>());
        listed_.output_schema = detail::result_schema<typename traits::returned>();
        body_ = std::make_shared<detail::function_body<F>>(std::move(function), std::move(names));
    }

    /// The same without options.
    template <std::size_t N, class F>
    host_tool(std::string name, std::string description, parameter const (&parameters)[N], F function)
        : host_tool(std::move(name), std::move(description), parameters, std::move(function), options()) {}

    /// A function without parameters, or with one struct (`IPYBOX_TOOL_TYPE`), whose members are the parameters of the
    /// tool.
    template <class F>
    host_tool(std::string name, std::string description, F function, options chosen)
        : host_tool(std::move(name), std::move(description), std::move(chosen)) {
        using traits = detail::tool_function<F>;
        static_assert(traits::count <= 1, "a host tool has a name for each parameter of its function");
        if constexpr (traits::count == 1) {
            using parameters = typename traits::template parameter<0>;
            static_assert(
                detail::described_struct<parameters>,
                "a host tool without names of parameters has none, or one struct that IPYBOX_TOOL_TYPE describes");
            if constexpr (detail::described_struct<parameters>) // else: no more errors behind the one above
                listed_.input_schema = detail::members_schema<parameters>();
        } else {
            listed_.input_schema = detail::parameters_schema<F>({}, {}, std::index_sequence<>());
        }
        listed_.output_schema = detail::result_schema<typename traits::returned>();
        body_ = std::make_shared<detail::function_body<F>>(std::move(function), std::vector<std::string>());
    }

    /// The same without options.
    template <class F>
    host_tool(std::string name, std::string description, F function)
        : host_tool(std::move(name), std::move(description), std::move(function), options()) {}

    /**
     * \brief A function of JSON: it gets all arguments as one object, `nlohmann::json` or `nlohmann::ordered_json`, and
     * returns what any host tool may.
     * \param name the name that code calls
     * \param description for the code, and for models
     * \param schema  JSON Schema 2020-12 of the arguments, an object. `add_tool` refuses keywords that are not checked
     * here.
     * \param function what is called
     * \param chosen its executor, and what it says about its effects
     * \param returns schema of the result, which is documentation for the code; not checked here. None: any value
     */
    template <class F>
    [[nodiscard]] static host_tool of_json(std::string name, std::string description, nlohmann::ordered_json schema,
                                           F function, options chosen,
                                           std::optional<nlohmann::ordered_json> returns = {}) {
        using traits = detail::tool_function<F>;
        static_assert(traits::count == 1 && detail::is_json<typename traits::template parameter<0>>,
                      "a host tool of JSON takes one nlohmann::json, which has all arguments");
        host_tool made(std::move(name), std::move(description), std::move(chosen));
        made.listed_.input_schema = std::move(schema);
        made.listed_.output_schema = returns ? std::move(returns) : detail::result_schema<typename traits::returned>();
        made.body_ = std::make_shared<detail::function_body<F>>(std::move(function), std::vector<std::string>());
        return made;
    }

    /// The same without options.
    template <class F>
    [[nodiscard]] static host_tool of_json(std::string name, std::string description, nlohmann::ordered_json schema,
                                           F function) {
        return of_json(std::move(name), std::move(description), std::move(schema), std::move(function), options());
    }

    /// A member function as the function of a host tool. The object is given as itself, which has to live as long as
    /// the tool, or as a pointer, also a shared one.
    template <class T, class R, class C, class... Args>
    [[nodiscard]] static auto method(T&& object, R (C::*function)(Args...)) {
        auto pointer = detail::pointer_to(std::forward<T>(object));
        return detail::bound_method<decltype(pointer), R (C::*)(Args...), R, Args...>{std::move(pointer), function};
    }

    /// The same of a member function that is const.
    template <class T, class R, class C, class... Args>
    [[nodiscard]] static auto method(T&& object, R (C::*function)(Args...) const) {
        auto pointer = detail::pointer_to(std::forward<T>(object));
        return detail::bound_method<decltype(pointer), R (C::*)(Args...) const, R, Args...>{std::move(pointer),
                                                                                            function};
    }

    /// The name that code calls.
    [[nodiscard]] std::string const& name() const noexcept { return listed_.name; }

    /// How the tool is listed: its schemas and annotations.
    [[nodiscard]] mcp::tool const& listed() const noexcept { return listed_; }
    /// The options that it was made with.
    [[nodiscard]] options const& get_options() const noexcept { return options_; }

    /// The effects that the options declare, as approvals see them.
    [[nodiscard]] detail::tool_annotations const& annotations() const noexcept { return annotations_; }

    /// The function, for the library.
    [[nodiscard]] std::shared_ptr<detail::tool_body> const& body() const noexcept { return body_; }

    /// Whether it can be offered. \par Errors errc::invalid_argument — what is wrong with its name, its schema or its
    /// executor
    [[nodiscard]] result<void> check() const;

  private:
    host_tool(std::string name, std::string description, options chosen);

    /// The mistake in names of parameters; empty if there is none.
    [[nodiscard]] static std::string wrong_with(std::vector<std::string> const& names);

    mcp::tool listed_;
    options options_;
    detail::tool_annotations annotations_;
    std::string wrong_;
    std::shared_ptr<detail::tool_body> body_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/host_tool.ipp>
#endif
