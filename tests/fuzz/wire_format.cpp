// libFuzzer target: what a kernel could send, over ZeroMQ and over the stream socket, and what a connection file or a
// kernel.json could hold.
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I include -I tests tests/fuzz/wire_format.cpp -lcrypto -o fuzz_wire_format
//     ./fuzz_wire_format --seed DIR && ./fuzz_wire_format -max_total_time=60 DIR
//
// The first byte chooses the parser, the second the channel; the rest is its input.

#include <ipybox/jupyter/connection_info.hpp>
#include <ipybox/jupyter/kernelspec.hpp>
#include <ipybox/jupyter/wire_format.hpp>
#include <ipybox/transport/stream_frame.hpp>

#include <fuzz/seeds.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using fuzz::require;
using namespace ipybox::jupyter;
using channel = message::channel;
using json = nlohmann::json;

enum parser : unsigned char { signed_wire, unsigned_wire, stream, connection_file, kernel_json, parsers };

/// Frames are written as u16 length and bytes, so that a mutation can move the cuts.
std::vector<std::string_view> cut(std::string_view input) {
    std::vector<std::string_view> frames;
    while (input.size() >= 2) {
        auto const low = static_cast<unsigned char>(input[0]);
        auto const high = static_cast<unsigned char>(input[1]);
        auto const size = std::min<std::size_t>(low | high << 8, input.size() - 2);
        frames.push_back(input.substr(2, size));
        input.remove_prefix(2 + size);
    }
    return frames;
}

std::string joined(std::vector<std::string> const& frames) {
    std::string out;
    for (auto const& frame : frames) {
        out.push_back(static_cast<char>(frame.size() & 255));
        out.push_back(static_cast<char>(frame.size() >> 8));
        out += frame;
    }
    return out;
}

/// What holds for every message, whoever sent it.
void use(message& m) {
    require(!m.type.empty());
    require(m.content.is_object() && m.metadata.is_object());
    (void)message::field(m.content, "execution_state");
    (void)m.take_text("text");
}

void fuzz_wire(message::channel on, std::string_view input, signer with) {
    wire_limits limits;
    limits.frames = 64;
    auto m = from_wire(on, cut(input), with, limits);
    if (!m) {
        require(!m.error().text().empty());
        return;
    }
    auto const type = m->type;
    auto const again = to_wire(*m, with);
    std::vector<std::string_view> const views(again.begin(), again.end());
    auto back = from_wire(on, views, with, limits);
    require(back.has_value() && back->type == type);
    use(*back);
}

void fuzz_stream(std::string_view input) {
    stream_frame_reader reader;
    // In pieces of different sizes: a cut may come anywhere.
    for (std::size_t piece = 1; !input.empty(); piece = piece * 3 % 97 + 1) {
        auto const room = reader.prepare();
        auto const count = std::min({piece, room.size(), input.size()});
        std::memcpy(room.data(), input.data(), count);
        reader.commit(count);
        input.remove_prefix(count);
        for (;;) {
            auto m = reader.next();
            if (!m) return; // the stream is of no use any more
            if (!*m) break;
            use(**m);
        }
    }
}

void fuzz_connection_file(std::string_view input) {
    auto const info = parse_connection_info(input);
    // A file may do without the heartbeat's port; everything else has been checked.
    if (info && info->hb_port != 0) require(parse_connection_info(to_text(*info)).has_value());
}

void fuzz_kernel_json(std::string_view input) {
    auto const spec = parse_kernelspec(input);
    if (!spec) return;
    require(kernel_command(*spec, "/run/k.json", "/usr/bin/python3").size() == spec->argv.size());
    (void)kernel_environment(*spec, {{"HOME", "/h"}});
}

fuzz::seed seed_of(char const* name, parser kind, message::channel on, std::string const& rest) {
    return {name, std::string{static_cast<char>(kind), static_cast<char>(on)} + rest};
}

} // namespace

std::vector<fuzz::seed> ipybox::fuzz::seeds() {
    auto const output = [] {
        message m(message::channel::iopub, "stream", {{"name", "stdout"}, {"text", ""}});
        m.metadata["raw"] = json::array({json::array({json::array({"text"}), 0, "text"})});
        m.parent_header = {{"msg_id", "p"}};
        m.buffers = {"hello"};
        return m;
    };
    signer key("key");
    signer none("");
    auto a = output();
    auto b = output();
    auto c = output();
    auto d = output();
    message request(message::channel::stdin_, "input_request", {{"prompt", "? "}, {"password", false}});
    connection_info info;
    info.shell_port = info.iopub_port = info.stdin_port = info.control_port = info.hb_port = 5000;
    return {seed_of("signed", signed_wire, message::channel::iopub, joined(to_wire(a, key))),
            seed_of("unsigned", unsigned_wire, message::channel::iopub, joined(to_wire(b, none))),
            seed_of("stdin", unsigned_wire, message::channel::stdin_, joined(to_wire(request, none))),
            seed_of("stream", stream, message::channel::iopub, to_stream_frame(c) + to_stream_frame(d)),
            seed_of("connection", connection_file, message::channel::shell, to_text(info)),
            seed_of("kernel", kernel_json, message::channel::shell,
                    R"({"argv":["python","{connection_file}"],"env":{"A":"${B}"},"interrupt_mode":"message"})")};
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 2) return 0;
    std::string_view const input(reinterpret_cast<char const*>(data) + 2, size - 2);
    auto const on = static_cast<message::channel>(data[1] % 4);
    switch (data[0] % parsers) {
    case signed_wire: fuzz_wire(on, input, signer("key")); break;
    case unsigned_wire: fuzz_wire(on, input, signer("")); break;
    case stream: fuzz_stream(input); break;
    case connection_file: fuzz_connection_file(input); break;
    case kernel_json: fuzz_kernel_json(input); break;
    default: break;
    }
    return 0;
}
