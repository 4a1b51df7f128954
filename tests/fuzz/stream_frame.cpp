// libFuzzer target: what a kernel could send over the stream socket (docs/kernel-protocol.md, section 3).
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I include -I tests tests/fuzz/stream_frame.cpp -lcrypto -o fuzz_stream_frame
//     ./fuzz_stream_frame --seed DIR && ./fuzz_stream_frame -max_total_time=60 DIR
//
// Whatever comes: no crash; the same messages however the bytes are cut; what was read can be written and read again.

#include <ipybox/jupyter/display_content.hpp>

#include <support/stream_bytes.hpp>

#include <fuzz/seeds.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using fuzz::require;
using namespace ipybox::jupyter;
using channel = message::channel;
using json = nlohmann::json;
using namespace ipybox::test;

void require_same(stream_reading const& a, stream_reading const& b) {
    require(a.messages.size() == b.messages.size());
    require(a.failed.has_value() == b.failed.has_value());
    if (a.failed) require(a.failed->text() == b.failed->text() && !a.failed->text().empty());
    for (std::size_t i = 0; i < a.messages.size(); ++i) {
        require(a.messages[i].content == b.messages[i].content);
        require(a.messages[i].buffers == b.messages[i].buffers);
    }
}

void write_again(message& m) {
    auto const again = read_stream(to_stream_frame(m));
    require(!again.failed && again.messages.size() == 1);
    require(again.messages[0].type == m.type && again.messages[0].buffers == m.buffers);
}

void use(message& m) {
    require(!m.type.empty() && m.content.is_object() && m.metadata.is_object());
    (void)m.take_text("text");
    (void)take_bundle(m).to_json();
}

fuzz::seed seed_of(char const* name, message m) {
    m.id = "1";
    return {name, to_stream_frame(m)};
}

} // namespace

std::vector<fuzz::seed> ipybox::fuzz::seeds() {
    message output(message::channel::iopub, "stream", {{"name", "stdout"}, {"text", ""}});
    output.metadata["raw"] = json::array({json::array({json::array({"text"}), 0, "text"})});
    output.buffers = {"hello"};
    message shown(message::channel::iopub, "display_data",
                  {{"data", {{"image/png", ""}, {"text/plain", "p"}}}, {"metadata", json::object()}});
    shown.metadata["raw"] = json::array({json::array({json::array({"data", "image/png"}), 0, "base64"})});
    shown.buffers = {"\x89PNG"};
    return {seed_of("output", output), seed_of("display", shown),
            seed_of("reply", {message::channel::shell, "execute_reply", {{"status", "ok"}}}),
            seed_of("question", {message::channel::stdin_, "input_request", {{"prompt", "? "}, {"password", false}}})};
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const bytes(reinterpret_cast<char const*>(data), size);
    auto whole = read_stream(bytes);
    require_same(whole, read_stream(bytes, 1 + size % 13));
    for (auto& m : whole.messages) {
        write_again(m);
        use(m);
    }
    return 0;
}
