// prints: x = 2.0 y = 3.0
// prints: P-1: 3 seats for 75 euro
// prints: a picture of 14 bytes, and: two parts
// prints: refused: seats has to be an integer

#include <ipybox/ipybox.hpp>

#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

//! [struct]
enum class tier { balcony, stalls };
NLOHMANN_JSON_SERIALIZE_ENUM(tier, {{tier::balcony, "balcony"}, {tier::stalls, "stalls"}})

struct booking {
    std::string play;
    tier where = tier::stalls;
    int seats = 1;
};
IPYBOX_TOOL_TYPE(booking, play, where, seats)

struct ticket {
    std::string number;
    double price = 0;
};
IPYBOX_TOOL_TYPE(ticket, number, price)
//! [struct]

namespace {

/// Prints what the code printed, or why it did not come to that.
bool show(ipybox::result<ipybox::execution_result> const& result) {
    if (result)
        std::cout << result->text << '\n';
    else
        std::cerr << result.error() << '\n';
    return result.has_value();
}

int complain(ipybox::error const& why) {
    std::cerr << why << '\n';
    return 1;
}

} // namespace

int main() {
    std::filesystem::path const dir = "build/examples/host_function";
    std::filesystem::create_directories(dir);
    ipybox::executor_options options;
    options.working_dir = dir;
    options.approval.tool_calls = false; // they are the application's own
    ipybox::executor box(options);

    //! [tool]
    // Names for the parameters; their types, and the type of the result, are those of the function.
    using matrix = std::vector<std::vector<double>>;
    ipybox::host_tool solve("solve", "Solves A x = b for two unknowns", {"matrix", {"rhs", "the right-hand side"}},
                            [](matrix const& a, std::vector<double> b) -> std::vector<double> {
                                auto const d = a.at(0).at(0) * a.at(1).at(1) - a.at(0).at(1) * a.at(1).at(0);
                                return {(b.at(0) * a[1][1] - a[0][1] * b.at(1)) / d,
                                        (a[0][0] * b[1] - b[0] * a[1][0]) / d};
                            });
    if (auto added = box.add_tool(std::move(solve)); !added) return complain(added.error());

    // The members of one struct are the parameters, if no names are given.
    ipybox::host_tool book("book", "Books seats", [](booking const& wanted) {
        auto const price = wanted.where == tier::stalls ? 25.0 : 12.5;
        return ticket{wanted.play.substr(0, 1) + "-1", price * wanted.seats};
    });
    if (auto added = box.add_tool(std::move(book)); !added) return complain(added.error());

    //! [options]
    // Options come last: what the function does to the world, for rules and for people, and where it is called.
    ipybox::host_tool count_seats(
        "seats", "Counts the free seats", [] { return 120; },
        {.executor = ipybox::host_tool::own_strand(), .title = "Free seats", .read_only = true});
    //! [options]
    if (auto added = box.add_tool(std::move(count_seats)); !added) return complain(added.error());

    // Code finds the functions in the package `host`, unless another name is given.
    if (auto made = box.generate_mcp_sources("host", dir / "mcptools"); !made) return complain(made.error());
    //! [tool]

    //! [call]
    auto result = box.execute(R"(
from mcptools.host import solve

x, y = solve.run(matrix=[[1, 1], [1, -1]], rhs=[5, -1])
print(f"x = {x:.1f} y = {y:.1f}")
)");
    //! [call]
    if (!show(result)) return 1;
    if (!show(box.execute(R"(
from mcptools.host import book

done = book.run(play="Pygmalion", where="stalls", seats=3)
print(f"{done.number}: 3 seats for {done.price:.0f} euro")
)")))
        return 1;

    //! [parts]
    // More than a value: text, pictures, files. The package is written again, and code finds the new function at once.
    ipybox::host_tool draw("draw", "Draws the stage", [] {
        auto drawn = ipybox::tool_result::text("two parts");
        drawn.add_image("\x89PNG\r\n\x1a\n stage", "image/png");
        return drawn;
    });
    if (auto added = box.add_tool(std::move(draw)); !added) return complain(added.error());
    //! [parts]
    if (!show(box.execute(R"(
from mcptools.host import draw

drawn = draw.run()
print("a picture of", len(drawn.parts[0].data), "bytes, and:", drawn)
)")))
        return 1;

    // The host checks arguments by the schema, whatever the code has left out on its side.
    return show(box.execute(R"(
from ipybox_kernel.tools import ToolRunner, ToolRunnerError

try:
    ToolRunner("host").run_sync("book", {"play": "Faust", "where": "stalls", "seats": "many"})
except ToolRunnerError as refusal:
    print("refused:", str(refusal).partition("refused: ")[2].partition(",")[0])
)"))
               ? 0
               : 1;
}
