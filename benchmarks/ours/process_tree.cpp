#include <ipybox/os/read_file.hpp>

#include <ours/process_tree.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace bench {
namespace {

std::filesystem::path proc(pid_t pid) { return std::filesystem::path("/proc") / std::to_string(pid); }

/// A file about a process. Empty where that has ended.
std::string text_of(pid_t pid, std::string const& name) {
    auto const file = proc(pid) / name;
    return ipybox::os::read_file(file, file.string(), ipybox::os::no_limit).value_or("");
}

/// "PID (NAME) STATE PARENT …"; the name may contain anything.
process_entry read_entry(pid_t pid) {
    auto const text = text_of(pid, "stat");
    auto const open = text.find('(');
    auto const close = text.rfind(')');
    if (close == std::string::npos) return {pid, 0, {}};
    std::istringstream rest(text.substr(close + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    return {pid, parent, text.substr(open + 1, close - open - 1)};
}

std::vector<process_entry> all_processes() {
    std::vector<process_entry> all;
    for (auto const& entry : std::filesystem::directory_iterator("/proc")) {
        auto const name = entry.path().filename().string();
        if (std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) {
            all.push_back(read_entry(std::stoi(name)));
        }
    }
    return all;
}

} // namespace

std::vector<process_entry> process_tree(pid_t root) {
    auto const all = all_processes();
    std::vector<process_entry> tree{read_entry(root)};
    for (std::size_t i = 0; i < tree.size(); ++i) {
        auto const parent = tree[i].pid;
        std::ranges::copy_if(all, std::back_inserter(tree), [parent](auto const& p) { return p.parent == parent; });
    }
    return tree;
}

std::string command_line(pid_t pid) {
    auto text = text_of(pid, "cmdline");
    std::ranges::replace(text, '\0', ' ');
    return text;
}

double pss(pid_t pid) {
    std::ifstream file(proc(pid) / "smaps_rollup");
    for (std::string word; file >> word;) {
        if (word != "Pss:") continue;
        double kilobytes = 0;
        file >> kilobytes;
        return kilobytes * 1024 / 1e6;
    }
    return 0;
}

} // namespace bench
