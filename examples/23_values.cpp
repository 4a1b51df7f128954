// prints: mean age 36.5
// prints: no value: not JSON: a value of type set
// prints: oldest: Bob
// prints: name 'nobody' is not defined

#include <ipybox/ipybox.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

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
}
