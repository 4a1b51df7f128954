// A program with a call: of ipybox it compiles its own few lines.
#include <ipybox/executor.hpp>
#include <ipybox/version.hpp>

#include <iostream>

int main() {
    ipybox::executor box;
    auto const result = box.execute("print(6 * 7)");
    std::cout << "ipybox " << ipybox::version::text << ": ";
    if (result) {
        std::cout << result->text << '\n';
        return result->text == "42" ? 0 : 1;
    }
    std::cout << result.error() << '\n';
    // Where a package is tested, there may be neither IPython nor bubblewrap.
    auto const why = result.error().code();
    return why == ipybox::errc::python_not_found || why == ipybox::errc::ipykernel_missing ||
                   why == ipybox::errc::sandbox_unavailable
               ? 0
               : 1;
}
