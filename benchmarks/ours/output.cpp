// Cells with much output: how fast it comes, and whether all of it does.

#include <ours/context.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>

namespace bench {
namespace {

double until_first_chunk(ipybox::executor& box) {
    auto const begin = clock::now();
    auto stream = box.stream("import time\nprint('x')\ntime.sleep(1)");
    double elapsed = 0;
    while (auto const event = stream.next()) {
        if (elapsed == 0 && std::holds_alternative<ipybox::output_chunk>(*event)) elapsed = milliseconds_since(begin);
    }
    return elapsed;
}

void first_chunk(context& context) {
    auto box = context.started_executor();
    until_first_chunk(box);
    std::vector<double> samples;
    for (int i = 0; i < 2 * context.repeat; ++i) samples.push_back(until_first_chunk(box));
    context.record("first_chunk", "ms", samples, "print, then one second of sleep");
}

/// Runs a cell of much output several times; `amount` says how much of it a text holds.
void received(context& context, std::string const& name, std::string const& cell, std::string const& unit,
              std::int64_t sent, double (*amount)(std::string const&)) {
    auto box = context.started_executor();
    std::vector<double> times, amounts;
    for (int i = 0; i < 16 * context.repeat; ++i) {
        std::string text;
        times.push_back(milliseconds([&] { text = require(box.execute(cell)).text; }));
        amounts.push_back(amount(text));
    }
    context.record(name, "ms", times);
    context.record(name + "_received", unit, amounts, "sent: " + std::to_string(sent));
}

double lines(std::string const& text) { return static_cast<double>(std::ranges::count(text, '\n') + 1); }
double crosses(std::string const& text) { return static_cast<double>(std::ranges::count(text, 'x')); }

void many_prints(context& context) {
    received(context, "print_10k", "for i in range(10_000): print('line', i)", "lines", 10'000, lines);
}

void flushed_prints(context& context) {
    received(context, "print_flushed", "for i in range(5_000): print('line', i, flush=True)", "lines", 5'000, lines);
}

template <int Megabytes>
void large_print(context& context) {
    std::int64_t const size = Megabytes * 1'000'000;
    received(context, "print_" + std::to_string(Megabytes) + "mb", "print('x' * " + std::to_string(size) + ")", "bytes",
             size, crosses);
}

void image(context& context) {
    auto box = context.started_executor();
    require(box.execute("import base64, os\n"
                        "data = base64.b64encode(b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom(1_000_000)).decode()"));
    std::vector<double> samples;
    std::size_t images = 0;
    for (int i = 0; i < 3 * context.repeat; ++i) {
        samples.push_back(milliseconds(
            [&] { images += require(box.execute("display({'image/png': data}, raw=True)")).images.size(); }));
    }
    if (images != samples.size()) throw std::runtime_error("images are missing");
    context.record("image_1mb", "ms", samples,
                   std::to_string(images) + " of " + std::to_string(samples.size()) + " images arrived");
}

} // namespace

std::vector<measurement> output_measurements() {
    return {{{"first_chunk"}, first_chunk},
            {{"print_10k", "print_10k_received"}, many_prints},
            {{"print_flushed", "print_flushed_received"}, flushed_prints},
            {{"print_1mb", "print_1mb_received"}, large_print<1>},
            {{"print_10mb", "print_10mb_received"}, large_print<10>},
            {{"print_20mb", "print_20mb_received"}, large_print<20>},
            {{"print_100mb", "print_100mb_received"}, large_print<100>},
            {{"image_1mb"}, image}};
}

} // namespace bench
