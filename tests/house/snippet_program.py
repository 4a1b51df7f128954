"""Writes one C++ source with every quoted snippet of README.md and docs/, each as it stands on the page.

Before them comes what README tells readers to include, and stand-ins for what a page leaves to the application. A
snippet with definitions is put into a namespace, one with statements into a function. Errors of the compiler name the
page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import snippets
from tree import REPOSITORY

PREAMBLE = """\
#include <ipybox/adapters/openai_tool.hpp>
#include <ipybox/ipybox.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;

// What snippets leave to the application, or take from a snippet before.
extern std::filesystem::path const dir;
extern ipybox::executor_options options;
extern ipybox::executor box;
extern ipybox::result<ipybox::execution_result> result;
extern ipybox::approval_request request;
extern ipybox::job const steps, endless, sum;
int complain(ipybox::error const& why);
asio::awaitable<void> count(ipybox::executor& alice);
asio::awaitable<void> look(ipybox::executor& bob);
struct print {
    template <class Event>
    void operator()(Event const&) const {}
};
enum class tier { balcony, stalls };
NLOHMANN_JSON_SERIALIZE_ENUM(tier, {{tier::balcony, "balcony"}, {tier::stalls, "stalls"}})
struct booking {
    std::string play;
    tier where;
    int seats;
};
IPYBOX_TOOL_TYPE(booking, play, where, seats)
struct ticket {
    std::string number;
    double price;
};
IPYBOX_TOOL_TYPE(ticket, number, price)
struct event_loop {
    void post(std::function<void()> work);
    void every(std::chrono::milliseconds period, std::function<bool()> work);
};
extern event_loop loop;
extern std::thread::id const window;
extern bool done, failed;
extern std::string const keep;
extern asio::io_context io;
asio::awaitable<void> session(ipybox::executor& box);
extern std::function<void(std::function<void()>)> const in_loop;
struct robot_arm {
    void move(double x, double y);
    std::string where() const;
};
extern robot_arm arm;
struct scripted_model {
    asio::awaitable<std::string> complete(std::string prompt);
};
extern std::promise<bool> ended;
std::string variable(char const* name, std::string const& otherwise);
nlohmann::json post(std::string const& path, nlohmann::json const& request);
extern std::size_t const most_calls;
std::string shown(std::string text);
"""

_definition = re.compile(
    r"(?:///?.*\n)*"  # comments
    r"(?:(?:struct|class|enum|template|namespace)\b"
    r"|[\w:]+(?:<.*>)? \w+\(.*\) \{$)",  # a function
    re.MULTILINE,
)


def wrapped(code: str, number: int, place: str) -> str:
    """A snippet as a part of the program. `place` is a #line directive."""
    if "int main()" in code:
        return ""  # a whole program, which is compiled as that
    if _definition.match(code):
        return f"namespace snippet_{number} {{\n{place}\n{code}}}\n"
    return f"int snippet_{number}() {{\n{place}\n{code}return 0;\n}}\n"


def program(root: Path) -> str:
    parts = [PREAMBLE]
    for page in snippets.pages(root):
        text = page.read_text(encoding="utf-8")
        for match in snippets.blocks(text):
            if match["language"] != "cpp" or match["file"] in (None, "none"):
                continue
            place = f'#line {text.count(chr(10), 0, match.start("code")) + 1} "{page.relative_to(root)}"'
            parts.append(wrapped(match["code"], len(parts), place))
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(program(REPOSITORY), encoding="utf-8")
