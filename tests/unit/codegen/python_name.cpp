#include <ipybox/codegen/generated_package.hpp>
#include <ipybox/codegen/python_name.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ipybox;
using namespace ipybox::codegen;
using names = std::vector<std::string>;

namespace {

names fields(names const& properties, names const& classes = {}) {
    name_scope scope;
    for (auto const& name : classes) scope.take(name, "");
    return field_names(properties, scope);
}

} // namespace

TEST_CASE("python_name: modules are called as the original calls them") {
    CHECK(generated_package::module_names({"search", "API-get-user", "Get User", "x.y/z"}) ==
          names{"search", "api_get_user", "get_user", "x_y_z"});
    CHECK(generated_package::module_names({}) == names{});
}

TEST_CASE("python_name: a tool cannot take a name of the package or of the language (W15)") {
    CHECK(generated_package::module_names({"__init__", "__main__", "_mcp", "_schema", "_pattern", "", "2fa", "import",
                                           "None", "ärger"}) == names{"tool___init__", "tool___main__", "tool__mcp",
                                                                      "tool__schema", "tool__pattern", "tool_",
                                                                      "tool_2fa", "import_", "none", "tool__rger"});
}

TEST_CASE("python_name: tools that would be the same module are told apart (W15)") {
    CHECK(generated_package::module_names({"tool-1", "tool_1", "Tool.1"}) == names{"tool_1_3", "tool_1", "tool_1_2"});
    CHECK(generated_package::module_names({"A", "a", "a_2"}) == names{"a_3", "a", "a_2"});
    // whatever their order
    CHECK(generated_package::module_names({"Tool.1", "tool_1", "tool-1"}) == names{"tool_1_2", "tool_1", "tool_1_3"});
}

TEST_CASE("python_name: long names are cut, and stay apart") {
    auto const made = generated_package::module_names({std::string(300, 'a') + "x", std::string(300, 'a') + "y"});
    CHECK(made[0].size() == 109);
    CHECK(made[0] != made[1]);
    CHECK(made[0].starts_with(std::string(100, 'a') + "_"));
}

TEST_CASE("python_name: packages") {
    for (auto const* name : {"github", "GitHub2", "a", "a_b"}) CHECK(check_package_name(name));
    for (auto const* name :
         {"", "_a", "2a", "a-b", "a.b", "..", "../x", "/etc", "a/b", "a b", "class", "None", "\xC3\xA4", "a\n"}) {
        CAPTURE(name);
        auto const refused = check_package_name(name);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
    }
    CHECK_FALSE(check_package_name(std::string("a\0b", 3)));
    CHECK_FALSE(check_package_name(std::string(101, 'a')));
    for (auto const* const name : {"json", "queue", "imp", "distutils", "multiprocessing", "turtle"})
        CHECK(is_standard_module(name));
    CHECK_FALSE(is_standard_module("github"));
}

TEST_CASE("python_name: properties that can be fields keep their names") {
    CHECK(fields({"query", "perPage", "type", "id", "model_id", "x1"}) ==
          names{"query", "perPage", "type", "id", "model_id", "x1"});
}

TEST_CASE("python_name: properties that cannot are changed") {
    CHECK(fields({"auth-method", "from", "class", "$meta", "_id", "2nd", "", "{{user}}", "\xC3\xA4"}) ==
          names{"auth_method", "from_", "class_", "meta", "id", "field_2nd", "field", "user__", "field_2"});
    CHECK(fields({"schema", "json", "copy", "model_config", "to_arguments", "str", "list", "None", "UNSET"}) ==
          names{"schema_", "json_", "copy_", "model_config_", "to_arguments_", "str_", "list_", "None_", "UNSET_"});
    CHECK(fields({"Item", "Items"}, {"Item"}) == names{"Item_", "Items"});
}

TEST_CASE("python_name: a changed name gives way to one that is kept") {
    CHECK(fields({"a-b", "a_b", "a.b"}) == names{"a_b_2", "a_b", "a_b_3"});
    CHECK(fields({"from", "from_"}) == names{"from__2", "from_"});
    CHECK(fields({"x-2", "x_2", "x"}) == names{"x_2_2", "x_2", "x"});
}

TEST_CASE("python_name: classes") {
    CHECK(class_name("per-page") == "PerPage");
    CHECK(class_name("perPage") == "PerPage");
    CHECK(class_name("issue_comment") == "IssueComment");
    CHECK(class_name("URL list") == "URLList");
    CHECK(class_name("2nd") == "Item2nd");
    CHECK(class_name("$") == "Item");
    CHECK(class_name("\xC3\xA4") == "Item");
    CHECK(class_name(std::string(500, 'a')).size() == 60);
}

TEST_CASE("python_name: one of many") {
    std::pair<char const*, char const*> const words[] = {{"items", "item"},
                                                         {"entries", "entry"},
                                                         {"branches", "branch"},
                                                         {"boxes", "box"},
                                                         {"dishes", "dish"},
                                                         {"classes", "class"},
                                                         {"children", "child"},
                                                         {"Children", "Child"},
                                                         {"status", "statusItem"},
                                                         {"analysis", "analysisItem"},
                                                         {"data", "dataItem"},
                                                         {"class", "classItem"},
                                                         {"s", "sItem"}};
    for (auto const& [plural, one] : words) CHECK(singular(plural) == one);
}

TEST_CASE("python_name: the names of a scope are apart") {
    auto scope = reserved_class_names();
    CHECK(scope.has("Params"));
    CHECK(scope.take("Params", "") == "Params2");
    CHECK(scope.take("Item", "") == "Item");
    CHECK(scope.take("Item", "") == "Item2");
    CHECK(scope.take("Item", "") == "Item3");
    CHECK(scope.take("Item2", "") == "Item22");
}
