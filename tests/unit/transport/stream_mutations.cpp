#include <ipybox/jupyter/display_content.hpp>

#include <support/catch.hpp>
#include <support/stream_bytes.hpp>

#include <sys/resource.h>

#include <random>
#include <string>
#include <vector>

/** \file
 * What tests/fuzz does with Clang, here with fixed seeds for every compiler: mutated bytes of a kernel do no harm.
 */

namespace {

using namespace ipybox;
using namespace ipybox::jupyter;
using channel = message::channel;
using json = nlohmann::json;
using namespace ipybox::test;

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    auto const add = [&all](message m) {
        m.id = "1";
        m.parent_header = {{"msg_id", "p"}};
        all.push_back(to_stream_frame(m));
    };
    message output(message::channel::iopub, "stream", {{"name", "stdout"}, {"text", ""}});
    output.metadata["raw"] = json::array({json::array({json::array({"text"}), 0, "text"})});
    output.buffers = {"hello"};
    add(output);
    message shown(message::channel::iopub, "display_data",
                  {{"data", {{"image/png", ""}, {"text/plain", "p"}, {"application/json", {{"a", {1, 2}}}}}},
                   {"metadata", json::object()}});
    shown.metadata["raw"] = json::array({json::array({json::array({"data", "image/png"}), 0, "base64"})});
    shown.buffers = {"\x89PNG"};
    add(shown);
    add({message::channel::shell,
         "execute_reply",
         {{"status", "error"}, {"ename", "E"}, {"evalue", "v"}, {"traceback", {"a", "b"}}}});
    add({message::channel::stdin_, "input_request", {{"prompt", "? "}, {"password", true}}});
    all.push_back(all[0] + all[2]);
    return all;
}

/// Flips, overwrites, cuts, doubles and joins, a few times.
std::string mutated(std::vector<std::string> const& from, std::mt19937& random) {
    static constexpr unsigned char edges[] = {0, 1, 4, 0x7f, 0x80, 0xff, '"', '[', '{', '}', ']', '\\'};
    auto const pick = [&random](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    auto text = from[pick(from.size())];
    for (auto changes = pick(6) + 1; changes > 0 && !text.empty(); --changes) {
        auto const at = pick(text.size());
        switch (pick(7)) {
        case 0: text[at] = static_cast<char>(text[at] ^ (1 << pick(8))); break;
        case 1: text[at] = static_cast<char>(edges[pick(std::size(edges))]); break;
        case 2: text.erase(at, pick(8) + 1); break;
        case 3: text.insert(at, 1, static_cast<char>(random())); break;
        case 4: text.insert(at, text.substr(pick(text.size()), pick(32))); break;
        case 5:
            text[pick(std::min<std::size_t>(text.size(), 24))] = static_cast<char>(random());
            break; // lengths, counts
        default: text += from[pick(from.size())].substr(0, pick(64)); break;
        }
    }
    // Lengths of many MiB are seldom: to reserve their room is all that happens, and it takes its time under a
    // sanitizer.
    if (text.size() >= 4 && static_cast<unsigned char>(text[3]) <= 16 && pick(64) != 0) text[2] = text[3] = 0;
    return text;
}

long most_memory_kib() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/// 50 000 inputs: what comes out of them is sound, and the memory that they take is bounded.
void read_mutations(unsigned seed) {
    auto const from = seeds();
    auto const before = most_memory_kib();
    std::mt19937 random(seed);
    int messages = 0;
    int errors = 0;
    for (int round = 0; round < 25'000; ++round) {
        auto all = read_stream(mutated(from, random), 16 + random() % 200);
        bool sound = !all.failed || !all.failed->text().empty();
        for (auto& m : all.messages) {
            sound = sound && !m.type.empty() && m.content.is_object() && m.metadata.is_object();
            (void)m.take_text("text");
            (void)take_bundle(m).to_json();
            ++messages;
        }
        if (!sound) FAIL("round " << round);
        if (all.failed) ++errors;
    }
    CHECK(messages > 1'250); // not everything dies at the door
    CHECK(errors > 5'000);
    // A length of 64 MiB is believed, so that much may be reserved, but not touched.
    CHECK(most_memory_kib() - before < 300 * 1024);
}

} // namespace

TEST_CASE("stream_frame: mutated inputs, 1") { read_mutations(1); }
TEST_CASE("stream_frame: mutated inputs, 2") { read_mutations(22); }
TEST_CASE("stream_frame: mutated inputs, 3") { read_mutations(333); }
TEST_CASE("stream_frame: mutated inputs, 4") { read_mutations(4444); }

TEST_CASE("stream_frame: the same messages, however the bytes are cut") {
    auto const from = seeds();
    std::mt19937 random(7);
    for (int round = 0; round < 2'000; ++round) {
        auto const bytes = mutated(from, random);
        auto const whole = read_stream(bytes);
        auto const pieces = read_stream(bytes, 1 + random() % 7);
        REQUIRE(whole.messages.size() == pieces.messages.size());
        REQUIRE(whole.failed.has_value() == pieces.failed.has_value());
        if (whole.failed) REQUIRE(whole.failed->text() == pieces.failed->text());
    }
}
