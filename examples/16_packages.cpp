// prints: packages: package installation pip install ipybox-no-such-package
// prints: not from here
// prints: nothing was installed

#include <ipybox/ipybox.hpp>

#include <iostream>

int main() {
    //! [layer]
    // Packages lie in this directory from now on; without one they go with the last executor.
    ipybox::package_layer::options where;
    where.directory = "build/examples/packages";
    auto const layer = ipybox::package_layer::make(where);
    if (!layer) {
        std::cerr << layer.error() << '\n';
        return 1;
    }
    auto const decide = [](ipybox::approval_request const& request) {
        std::cout << "packages: " << ipybox::safe_text::of(*request.subject()).text() << '\n';
        request.reject("not from here");
    };
    ipybox::executor_options options;
    options.kernel.packages = *layer;
    ipybox::executor box(options, decide);
    auto const installed = box.install_package("ipybox-no-such-package");
    if (!installed) std::cout << installed.error() << '\n';
    //! [layer]
    if (!installed) std::cout << "nothing was installed\n";
}
