#include <ipybox/session/output_recorder.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace ipybox;
using detail::output_recorder;
using encoding = mime_bundle::encoding;

struct scratch_recorder {
    test::scratch_dir dir;
    std::filesystem::path images = dir.path() / "images";
    std::filesystem::path spill = dir.path() / "spill";

    [[nodiscard]] output_recorder make(std::size_t bound = 1 << 20) const {
        return output_recorder({images, spill, bound});
    }
};

display of(std::string type, std::string value, encoding kind = encoding::text, std::string id = "") {
    display d;
    d.data.add({std::move(type), kind, std::move(value)});
    d.id = std::move(id);
    return d;
}

display update(display d) {
    d.kind = display_kind::update_display_data;
    return d;
}

std::size_t files_in(std::filesystem::path const& dir) {
    std::error_code none;
    auto const all = std::filesystem::directory_iterator(dir, none);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Files cannot grow beyond a size, as on a disk that is full.
class full_disk {
  public:
    explicit full_disk(rlim_t size) {
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
        rlimit const small{size, before_.rlim_max};
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    }
    full_disk(full_disk const&) = delete;
    full_disk& operator=(full_disk const&) = delete;
    ~full_disk() {
        (void)::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

  private:
    rlimit before_{};
    void (*handler_)(int) = SIG_DFL;
};

} // namespace

TEST_CASE_METHOD(scratch_recorder, "output_recorder: text and the plain text of displays, in order") {
    auto r = make();
    r.write("one\n");
    auto d = of("text/plain", "shown");
    d.data.add({"text/html", encoding::text, "<b>"});
    r.show(d);
    r.write("\ntwo\n");
    auto const result = r.finish();
    CHECK(result.text == "one\nshown\ntwo");
    REQUIRE(result.displays.size() == 1);
    CHECK(*result.displays[0].data.find("text/html") == "<b>");
    CHECK(result.images.empty());
    CHECK(result.spill_file.empty());
    CHECK_FALSE(r.failure());
    CHECK_FALSE(std::filesystem::exists(images));
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: images become files") {
    auto r = make();
    auto first = of("image/png", "\x89PNG 1", encoding::bytes);
    auto second = of("image/png", "\x89PNG 2", encoding::bytes);
    r.show(first);
    r.show(second);
    auto const result = r.finish();
    REQUIRE(result.images.size() == 2);
    CHECK(result.images[0] == first.image);
    CHECK(result.displays[1].image == second.image);
    CHECK(test::read_file(result.images[0]) == "\x89PNG 1");
    CHECK(test::read_file(result.images[1]) == "\x89PNG 2");
    CHECK(result.images[0].parent_path() == images);
    CHECK(result.images[0].extension() == ".png");
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: an image that cannot be saved is told") {
    std::ofstream(images) << "in the way";
    auto r = make();
    auto d = of("image/png", "x", encoding::bytes);
    r.show(d);
    r.write("goes on");
    REQUIRE(r.failure());
    CHECK(*r.failure() == errc::io_error);
    CHECK(d.image.empty());
    auto const result = r.finish();
    CHECK(result.images.empty());
    CHECK(result.displays.size() == 1);
    CHECK(result.text == "goes on");
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: half an image is none") {
    std::filesystem::create_directories(images);
    auto r = make();
    auto d = of("image/png", std::string(1000, 'x'), encoding::bytes);
    {
        full_disk const full(100);
        r.show(d);
    }
    REQUIRE(r.failure());
    CHECK(*r.failure() == errc::io_error);
    CHECK(d.image.empty());
    CHECK(files_in(images) == 0);
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: the names of types take memory too") {
    auto r = make(100);
    auto d = of(std::string(1000, 'x'), "");
    r.show(d);
    CHECK_FALSE(r.finish().displays[0].spill_file.empty());
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: an update replaces the content, not the kind") {
    auto r = make();
    auto a = of("text/plain", "a0", encoding::text, "a");
    auto b = of("text/plain", "b0", encoding::text, "b");
    auto a2 = of("text/plain", "a1", encoding::text, "a");
    a2.kind = display_kind::execute_result;
    r.show(a);
    r.show(b);
    r.show(a2);
    auto news = update(of("text/plain", "new", encoding::text, "a"));
    r.show(news);
    auto const result = r.finish();
    REQUIRE(result.displays.size() == 3);
    CHECK(*result.displays[0].data.find("text/plain") == "new");
    CHECK(*result.displays[1].data.find("text/plain") == "b0");
    CHECK(*result.displays[2].data.find("text/plain") == "new");
    CHECK(result.displays[0].kind == display_kind::display_data);
    CHECK(result.displays[2].kind == display_kind::execute_result);
    CHECK(result.text == "a0b0a1"); // what has been printed stays
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: updates of nothing") {
    auto r = make(20);
    auto nameless = of("text/plain", "x");
    r.show(nameless);
    for (auto const* id : {"", "unknown"}) {
        auto d = update(of("text/plain", std::string(100, 'u'), encoding::text, id));
        r.show(d);
    }
    auto const result = r.finish();
    REQUIRE(result.displays.size() == 1);
    CHECK(*result.displays[0].data.find("text/plain") == "x");
    CHECK(files_in(spill) == 0); // nobody would know of them
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: displays beyond the bound go to files of their own") {
    auto r = make(110);
    auto small = of("text/html", std::string(60, 's'));
    auto large = of("application/json", "[" + std::string(60, '1') + "]", encoding::json);
    large.data.add({"image/jpeg", encoding::bytes, "\xff\xd8"});
    auto tiny = of("text/html", std::string(20, 't'));
    r.show(small);
    r.show(large);
    r.show(tiny);
    auto const result = r.finish();
    REQUIRE(result.displays.size() == 3);
    CHECK(result.displays[0].spill_file.empty());
    CHECK(result.displays[1].data.empty());
    REQUIRE_FALSE(result.displays[1].spill_file.empty());
    CHECK(nlohmann::json::parse(test::read_file(result.displays[1].spill_file))["data"]["image/jpeg"] == "/9g=");
    CHECK(result.displays[2].spill_file.empty()); // still fits
    CHECK_FALSE(r.failure());
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: a display that is updated often takes its room once") {
    auto r = make(1000);
    auto d = of("text/html", std::string(300, '0'), encoding::text, "bar");
    r.show(d);
    for (int i = 1; i <= 100; ++i) {
        auto next = update(of("text/html", std::string(300, static_cast<char>('0' + i % 10)), encoding::text, "bar"));
        r.show(next);
    }
    auto const result = r.finish();
    CHECK(files_in(spill) == 0);
    REQUIRE(result.displays.size() == 1);
    CHECK(*result.displays[0].data.find("text/html") == std::string(300, '0'));
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: a spill file that cannot be made is told") {
    std::ofstream(spill) << "in the way";
    auto r = make(10);
    auto d = of("text/html", std::string(100, 'x'));
    r.show(d);
    REQUIRE(r.failure());
    CHECK(*r.failure() == errc::io_error);
    CHECK(r.finish().displays[0].data.empty()); // bounded all the same
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: displays beyond their number are counted, and no failure") {
    auto r = make();
    for (int i = 0; i < 10'003; ++i) {
        auto d = of("text/plain", "x");
        r.show(d);
    }
    CHECK_FALSE(r.failure());
    auto const result = r.finish();
    CHECK(result.displays.size() == 10'000);
    CHECK(result.displays_left_out == 3);
    CHECK(result.text == std::string(10'003, 'x'));
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: displays whose text is no UTF-8 are spilled too") {
    auto r = make(1);
    auto d = of("text/html", "\xff\xfe");
    r.show(d);
    CHECK_FALSE(r.failure());
    CHECK(nlohmann::json::accept(test::read_file(r.finish().displays[0].spill_file)));
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: clearing takes all back, but the files of images") {
    auto r = make();
    r.write("gone");
    auto d = of("image/png", "x", encoding::bytes);
    r.show(d);
    REQUIRE(std::filesystem::exists(d.image));
    r.clear(false);
    r.write("there");
    auto const result = r.finish();
    CHECK(result.text == "there");
    CHECK(result.displays.empty());
    CHECK(result.images.empty());
    CHECK(test::read_file(d.image) == "x"); // its path is in an event
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: clearing may wait for the next output") {
    auto waits = make();
    waits.write("stays");
    waits.clear(true);
    CHECK(waits.finish().text == "stays");

    auto r = make();
    r.write("gone");
    r.clear(true);
    r.clear(true);
    auto d = of("text/plain", "shown");
    r.show(d);
    auto const result = r.finish();
    CHECK(result.text == "shown");
    CHECK(result.displays.size() == 1);
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: long text has a file") {
    auto r = make(100);
    r.write(std::string(1000, 'x'));
    auto const result = r.finish();
    CHECK(test::read_file(result.spill_file) == std::string(1000, 'x'));
    CHECK(result.text.size() < 400);
}
