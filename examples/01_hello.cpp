// prints: 3 planets
// prints: the largest: Jupiter

#include <ipybox/executor.hpp>

#include <iostream>

int main() {
    //! [execute]
    // One kernel in a bubblewrap sandbox. It starts with the first call and ends with the object.
    ipybox::executor box;

    auto result = box.execute("planets = {'Mars': 6779, 'Jupiter': 139820, 'Venus': 12104}\n"
                              "print(len(planets), 'planets')");
    if (!result) {
        // The text of an error says what is wrong and what to do.
        std::cerr << result.error() << '\n';
        return 1;
    }
    std::cout << result->text << '\n';
    //! [execute]

    //! [state]
    // The next call finds the variables of the one before.
    result = box.execute("print('the largest:', max(planets, key=planets.get))");
    if (result) std::cout << result->text << '\n';
    //! [state]
}
