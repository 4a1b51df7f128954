// prints: kept: state.pickle
// prints: gone: NameError
// prints: back: 42 and [1, 2, 3]

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <filesystem>
#include <iostream>
#include <string>

namespace {

//! [functions]
// Definitions for the code: variables that pickle can write, to a file in the working directory and back.
std::string const keep = R"(
def save_state(path, names):
    import pickle
    kept = {name: globals()[name] for name in names}
    with open(path, "wb") as file:
        pickle.dump(kept, file)

def load_state(path):
    import pickle
    with open(path, "rb") as file:
        globals().update(pickle.load(file))
)";
//! [functions]

} // namespace

int main() {
    std::filesystem::path const dir = "build/examples/state";
    std::filesystem::create_directories(dir);

    //! [save]
    ipybox::executor_options options;
    options.working_dir = dir;
    ipybox::executor box(options);
    auto result = box.execute(keep + R"(
answer, numbers = 42, [1, 2, 3]
save_state("state.pickle", ["answer", "numbers"])
)");
    //! [save]
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }
    std::cout << "kept: " << (std::filesystem::exists(dir / "state.pickle") ? "state.pickle" : "nothing") << '\n';

    //! [load]
    // A fresh kernel, as after stop(), in another process, or on another day.
    if (auto fresh = box.reset(); !fresh) {
        std::cerr << fresh.error() << '\n';
        return 1;
    }
    result = box.execute("answer");
    if (!result && result.error().exception()) std::cout << "gone: " << result.error().exception()->ename << '\n';

    result = box.execute(keep + "load_state('state.pickle')\nprint('back:', answer, 'and', numbers)");
    //! [load]
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }
    std::cout << result->text << '\n';
}
