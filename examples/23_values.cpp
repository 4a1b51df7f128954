// prints: mean age 36.5
// prints: no value: not JSON: a value of type set
// prints: oldest: Bob
// prints: name 'nobody' is not defined
// prints: doubled: [2,4,6]

#include <ipybox/ipybox.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

//! [coroutine]
asio::awaitable<void> doubled(ipybox::executor& box) {
    // A value in braces gets a name: GCC 12 destroys such a temporary inside a co_await expression twice.
    nlohmann::ordered_json const numbers = {1, 2, 3};
    if (auto const put = co_await box.async_put("numbers", numbers); !put) co_return;
    if (auto const run = co_await box.async_execute("numbers = [2 * n for n in numbers]"); !run) co_return;
    if (auto const got = co_await box.async_get("numbers")) std::cout << "doubled: " << (*got)->dump() << '\n';
}
//! [coroutine]

int main() {
    ipybox::executor box;

    //! [put]
    nlohmann::ordered_json const people = {{{"name", "Ann"}, {"age", 31}}, {{"name", "Bob"}, {"age", 42}}};
    if (auto put = box.put("people", people); !put) {
        std::cerr << put.error() << '\n';
        return 1;
    }
    //! [put]

    //! [value]
    auto const mean = box.execute("{'mean': sum(p['age'] for p in people) / len(people)}", {.want_value = true});
    if (!mean) {
        std::cerr << mean.error() << '\n';
        return 1;
    }
    if (mean->value) std::cout << "mean age " << mean->value->at("mean") << '\n';

    auto const names = box.execute("{p['name'] for p in people}", {.want_value = true});
    if (names && !names->value) std::cout << "no value: " << names->value_missing << '\n';
    //! [value]

    //! [get]
    if (auto const done = box.execute("oldest = max(people, key=lambda p: p['age'])"); !done) return 1;
    auto const oldest = box.get("oldest");
    if (!oldest) {
        std::cerr << oldest.error() << '\n';
        return 1;
    }
    std::cout << "oldest: " << (*oldest)->at("name").get<std::string>() << '\n';
    //! [get]
    auto const nobody = box.get("nobody");
    if (!nobody && nobody.error().exception()) std::cout << nobody.error().exception()->evalue << '\n';

    asio::io_context io;
    asio::co_spawn(io, doubled(box), asio::detached);
    io.run();
}
