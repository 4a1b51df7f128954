#include <ipybox/ipybox.hpp>

#include <nlohmann/json.hpp>

#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <string>

/** \file
 * A runtime whose executors do what the lines of standard input say, as JSON; each is answered by one.
 * The arguments: the working directory of the runtime, its interpreter, a file with the sandbox's configuration, and
 * the word `open` for no walls.
 */

namespace {

using json = nlohmann::json;

class host {
  public:
    host(ipybox::runtime::options const& options, ipybox::any_sandbox sandbox)
        : shared_(options, std::move(sandbox)), workspace_(options.working_dir) {}

    json answer(json const& request) {
        auto const& name = request.at("session").get_ref<std::string const&>();
        if (request.contains("code")) return ran(name, request["code"].get<std::string>());
        ipybox::executor_options options;
        options.working_dir = workspace_ / name;
        options.output.images_dir = workspace_.parent_path() / "images";
        options.kernel.env = request.at("env").get<ipybox::environment>();
        options.approval.require_shell_escape = request.at("guard");
        boxes_[name] = std::make_unique<ipybox::executor>(options, ipybox::auto_approval{}, shared_);
        auto const started = boxes_[name]->start();
        return started ? json::object() : json{{"error", started.error().text()}};
    }

  private:
    json ran(std::string const& name, std::string code) {
        auto const result = boxes_.at(name)->execute(std::move(code));
        return result ? json{{"text", result->text}} : json{{"error", result.error().text()}};
    }

    ipybox::runtime shared_;
    std::filesystem::path workspace_;
    std::map<std::string, std::unique_ptr<ipybox::executor>> boxes_;
};

} // namespace

int main(int argc, char** argv) try {
    if (argc < 4) return 2;
    auto const config = ipybox::sandbox_config::load(argv[3]);
    if (!config) {
        std::cerr << config.error() << '\n';
        return 1;
    }
    ipybox::runtime::options options;
    options.working_dir = argv[1];
    options.kernel.python = argv[2];
    options.walls = argc < 5;
    options.sandbox.limits.processes = 60;
    host with(options, ipybox::bubblewrap_sandbox(*config));
    for (std::string line; std::getline(std::cin, line);) std::cout << with.answer(json::parse(line)) << std::endl;
    return 0;
} catch (std::exception const& mistake) {
    std::cerr << mistake.what() << '\n';
    return 1;
}
