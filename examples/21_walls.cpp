// prints: ada works in ['ada']
// prints: bob works in ['bob']
// prints: bob sees ada's file: False

#include <ipybox/ipybox.hpp>

#include <filesystem>
#include <iostream>

int main() {
    //! [walls]
    // One sandbox for all sessions, in which each has a directory of its own.
    auto const workspace = std::filesystem::absolute("build/examples/walls");
    ipybox::runtime::options shared;
    shared.working_dir = workspace;
    ipybox::runtime const runtime(shared);

    auto const session = [&](std::string const& name) {
        ipybox::executor_options options;
        options.working_dir = workspace / name;
        std::filesystem::create_directories(options.working_dir);
        return ipybox::executor(options, ipybox::deny_approval{}, runtime);
    };
    auto ada = session("ada");
    auto bob = session("bob");
    //! [walls]
    auto const show = [](auto const& result) {
        if (result)
            std::cout << result->text << '\n';
        else
            std::cerr << result.error() << '\n';
        return result.has_value();
    };
    return show(ada.execute("import os; open('notes.txt', 'w').close(); print('ada works in', os.listdir('..'))")) &&
                   show(bob.execute("import os; print('bob works in', os.listdir('..'))")) &&
                   show(bob.execute("print(\"bob sees ada's file:\", os.path.exists('../ada/notes.txt'))"))
               ? 0
               : 1;
}
