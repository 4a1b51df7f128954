// prints: /ipybox-plots/
// prints: a table of 3 rows

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <filesystem>
#include <iostream>

int main() {
    //! [preload]
    auto const folder = std::filesystem::temp_directory_path() / "ipybox-plots";

    // Preloaded modules are imported once, before kernels are forked: `import matplotlib.pyplot` then costs the code
    // nothing.
    ipybox::executor box({.kernel = {.preload = {"matplotlib.pyplot"}}, .output = {.images_dir = folder}});
    //! [preload]
    if (auto started = box.start(); !started) {
        std::cerr << started.error() << '\n';
        return 1;
    }

    //! [plot]
    auto result = box.execute(R"(
import matplotlib.pyplot as plt
fig, axes = plt.subplots()
axes.plot([1, 4, 9, 16])
axes.set_title('squares')
plt.show()
)");
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }
    // PNG images are saved as they come; the result names the files.
    for (auto const& image : result->images) std::cout << image.string() << '\n';
    //! [plot]

    //! [mime]
    // Whatever is displayed comes in each form that it has; take the one you can show.
    result = box.execute(R"(
class Table:
    def __repr__(self):
        return 'a table of 3 rows'
    def _repr_html_(self):
        return '<table><tr><td>1<tr><td>2<tr><td>3</table>'
Table()
)");
    if (!result) return 1;
    for (auto const& shown : result->displays)
        for (auto const& [type, encoding, value] : shown.data.entries()) std::cout << type << ": " << value << '\n';
    //! [mime]
}
