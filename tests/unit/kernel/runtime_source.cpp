#include <ipybox/codegen/support_source.hpp>
#include <ipybox/kernel/runtime_source.hpp>

#include <support/catch.hpp>

#include <string_view>

namespace {

/// The generator counts the bytes of a text: the view has to end where the literal does.
bool is_whole(std::string_view text) {
    return text.data()[text.size()] == '\0' && text.find('\0') == std::string_view::npos;
}

} // namespace

TEST_CASE("runtime_source: each embedded text has the length that is given for it") {
    for (auto const& module : ipybox::detail::runtime_modules) {
        INFO(module.name);
        CHECK(is_whole(module.text));
        CHECK(module.text.ends_with('\n'));
    }
    for (auto const text :
         {ipybox::detail::runtime_boot, ipybox::detail::runtime_keeper, ipybox::detail::runtime_installer}) {
        INFO(text.substr(0, 80));
        CHECK(is_whole(text));
        CHECK(text.ends_with('\n'));
    }
}

TEST_CASE("support_source: each embedded text has the length that is given for it") {
    for (auto const& file : ipybox::codegen::detail::package_support) {
        INFO(file.name);
        CHECK(is_whole(file.text));
    }
    CHECK(is_whole(ipybox::codegen::detail::root_index));
}
