// prints: total: 12
// prints: the code may not write elsewhere: OSError

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

int main() {
    std::filesystem::path const dir = "build/examples/files";
    std::filesystem::create_directories(dir);

    //! [files]
    // The working directory is a directory of the host. The application and the code both read and write it.
    ipybox::executor_options options;
    options.working_dir = dir;
    ipybox::executor box(options);

    std::ofstream(dir / "orders.csv") << "item,price\npen,2\nbook,10\n";
    auto const result = box.execute(R"(
import csv
with open("orders.csv") as orders, open("total.txt", "w") as total:
    print(sum(int(order["price"]) for order in csv.DictReader(orders)), file=total)
)");
    if (result) {
        std::string total;
        std::getline(std::ifstream(dir / "total.txt"), total);
        std::cout << "total: " << total << '\n';
    }
    //! [files]
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }

    auto const outside = box.execute("open('/etc/ipybox-example', 'w')");
    if (!outside && outside.error().exception())
        std::cout << "the code may not write elsewhere: " << outside.error().exception()->ename << '\n';
}
