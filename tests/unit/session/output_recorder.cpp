#include <ipybox/session/output_places.hpp>
#include <ipybox/session/output_recorder.hpp>
#include <ipybox/session/output_text.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/eventually.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace {

using namespace ipybox;
using detail::output_recorder;
using encoding = display::mime_bundle::encoding;
using test::contains;

struct scratch_recorder {
    test::scratch_dir dir;
    std::filesystem::path images = dir.path() / "images";
    std::filesystem::path spill = dir.path() / "spill";

    [[nodiscard]] output_recorder make(std::size_t bound = 1 << 20) const {
        return make({bound, 1000, std::uint64_t(1) << 30});
    }

    [[nodiscard]] output_recorder make(output_recorder::bounds const& most) const {
        detail::output_places::settings const where{images, spill, dir.path(), detail::spilled_files::kept};
        return output_recorder(std::make_shared<detail::output_places>(where), most);
    }
};

display of(std::string type, std::string value, encoding kind = encoding::text, std::string id = "") {
    display d;
    d.data.add({std::move(type), kind, std::move(value)});
    d.id = std::move(id);
    return d;
}

/// Bytes that pass for a PNG.
std::string png(std::string const& body = "") { return "\x89PNG\r\n\x1a\n" + body; }

display update(display d) {
    d.kind = display::message_type::update_display_data;
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
    CHECK(result.text == "one\nshown\n\ntwo");
    REQUIRE(result.displays.size() == 1);
    CHECK(*result.displays[0].data.find("text/html") == "<b>");
    CHECK(result.images.empty());
    CHECK(result.spill_file.empty());
    CHECK_FALSE(r.failure());
    CHECK_FALSE(std::filesystem::exists(images));
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: images become files") {
    auto r = make();
    auto first = of("image/png", png("1"), encoding::bytes);
    auto second = of("image/png", png("2"), encoding::bytes);
    r.show(first);
    r.show(second);
    auto const result = r.finish();
    REQUIRE(result.images.size() == 2);
    CHECK(result.images[0] == first.image);
    CHECK(result.displays[1].image == second.image);
    CHECK(test::read_file(result.images[0]) == png("1"));
    CHECK(test::read_file(result.images[1]) == png("2"));
    CHECK(result.images[0].parent_path() == images);
    CHECK(result.images[0].extension() == ".png");
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: an image that cannot be saved is told") {
    std::ofstream(images) << "in the way";
    auto r = make();
    auto d = of("image/png", png(), encoding::bytes);
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
    auto d = of("image/png", png(std::string(1000, 'x')), encoding::bytes);
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
    a2.kind = display::message_type::execute_result;
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
    CHECK(result.displays[0].kind == display::message_type::display_data);
    CHECK(result.displays[2].kind == display::message_type::execute_result);
    CHECK(result.text == "a0\nb0\na1\nnew"); // what has been printed stays
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: updates of nothing") {
    auto r = make(20);
    auto nameless = of("text/plain", "x");
    r.show(nameless);
    for (auto const* id : {"", "unknown"}) {
        auto d = update(of("text/html", std::string(100, 'u'), encoding::text, id));
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

TEST_CASE_METHOD(scratch_recorder, "output_recorder: when the time is up, no large file is begun") {
    auto r = make(10);
    (void)r.writing().request_stop();
    auto small = of("text/html", std::string(60, 's'));
    auto large = of("text/html", std::string(1 << 20, 'l'));
    auto image = of("image/png", png(std::string(1 << 20, 'i')), encoding::bytes);
    auto plot = of("image/png", png("plot"), encoding::bytes);
    for (auto* const shown : {&small, &large, &image, &plot}) r.show(*shown);
    auto const result = r.finish();
    CHECK(result.files_left_out == 3); // of the large image both its file and its display
    REQUIRE(result.displays.size() == 4);
    CHECK_FALSE(result.displays[0].spill_file.empty());
    CHECK(result.displays[1].spill_file.empty());
    CHECK(result.displays[1].data.empty());
    CHECK(result.images.size() == 1);
    CHECK_FALSE(plot.image.empty());
    CHECK_FALSE(r.failure());
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: when the time is up, the file that is being written goes") {
    auto r = make(10);
    std::jthread const clock([this, writing = r.writing()]() mutable {
        (void)test::eventually([this] { return files_in(spill) == 1; });
        writing.request_stop();
    });
    auto endless = of("text/html", std::string(200'000'000, '\n'));
    r.show(endless);
    CHECK(files_in(spill) == 0);
    CHECK(r.finish().files_left_out == 1);
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
    CHECK(result.text.size() == 2 * 10'003 - 1);
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
    auto d = of("image/png", png(), encoding::bytes);
    r.show(d);
    REQUIRE(std::filesystem::exists(d.image));
    r.clear(false);
    r.write("there");
    auto const result = r.finish();
    CHECK(result.text == "there");
    CHECK(result.displays.empty());
    CHECK(result.images.empty());
    CHECK(test::read_file(d.image) == png()); // its path is in an event
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

TEST_CASE_METHOD(scratch_recorder, "output_recorder: displays have lines of their own") {
    auto r = make();
    auto const show = [&r](std::string text) {
        auto d = of("text/plain", std::move(text));
        r.show(d);
    };
    show("1");
    show("2");
    r.write("a\n");
    show("3");
    r.write("b");
    show("4\n");
    r.write("c");
    show("5");
    CHECK(r.finish().text == "1\n2\na\n3\nb\n4\nc\n5");

    auto cleared = make();
    cleared.write("gone");
    cleared.clear(false);
    auto d = of("text/plain", "shown");
    cleared.show(d);
    cleared.write("behind");
    CHECK(cleared.finish().text == "shown\nbehind");
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: long text has a file") {
    auto r = make(100);
    r.write(std::string(1000, 'x'));
    auto const result = r.finish();
    CHECK(test::read_file(result.spill_file) == std::string(1000, 'x'));
    CHECK(result.text.size() < 400);
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: what only says that it is a PNG is not saved") {
    auto r = make();
    for (std::string const bytes : {"#!/bin/sh\necho arbitrary\n", "\x89PNG", "", "\x89PNG\r\n\x1a"}) {
        auto d = of("image/png", bytes, encoding::bytes);
        r.show(d);
        CHECK(d.image.empty());
    }
    auto const result = r.finish();
    CHECK(result.images.empty());
    CHECK(result.displays.size() == 4);
    CHECK(files_in(images) == 0);
    CHECK_FALSE(r.failure());
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: so many files, and so many bytes of them") {
    auto r = make({1 << 20, 3, 1 << 20});
    for (int i = 0; i < 5; ++i) {
        auto d = of("image/png", png(), encoding::bytes);
        r.show(d);
        CHECK(d.image.empty() == (i >= 3));
    }
    auto result = r.finish();
    CHECK(result.images.size() == 3);
    CHECK(result.files_left_out == 2);
    CHECK(result.displays.size() == 5);
    CHECK(files_in(images) == 3);

    auto bytes = make({10, 100, 1000});
    auto d = of("image/png", png(std::string(992, 'x')),
                encoding::bytes); // a thousand bytes, and no room for a spilled display
    bytes.show(d);
    CHECK_FALSE(d.image.empty());
    auto second = of("image/png", png(), encoding::bytes);
    bytes.show(second);
    CHECK(second.image.empty());
    result = bytes.finish();
    CHECK(result.files_left_out == 3); // both displays and an image
    CHECK(files_in(spill) == 0);
}

TEST_CASE_METHOD(scratch_recorder,
                 "output_recorder: beyond the bound an image of an update replaces the one before it") {
    auto r = make({1 << 20, 3, 1 << 20});
    auto shown = of("image/png", png("first"), encoding::bytes, "plot");
    r.show(shown);
    std::vector<std::filesystem::path> updates;
    for (int i = 0; i < 5; ++i) {
        auto d = update(of("image/png", png(std::to_string(i)), encoding::bytes, "plot"));
        r.show(d);
        REQUIRE_FALSE(d.image.empty());
        updates.push_back(d.image);
    }
    auto other = update(of("image/png", png("other"), encoding::bytes, "another plot"));
    r.show(other);
    CHECK(other.image.empty()); // there is none before it to be replaced
    auto const result = r.finish();
    CHECK(result.images == std::vector{shown.image, updates[0], updates[4]});
    CHECK(result.files_left_out == 1);
    CHECK(files_in(images) == 3);
    CHECK(test::read_file(updates[4]) == png("4"));
}

TEST_CASE_METHOD(scratch_recorder,
                 "output_recorder: displays of one id share what an update says, in memory and in a file") {
    auto r = make({1 << 20, 1000, 1 << 20});
    for (int i = 0; i < 5000; ++i) {
        auto d = of("text/html", "", encoding::text, "a");
        r.show(d);
    }
    for (int i = 0; i < 3; ++i) {
        auto fits = update(of("text/html", std::string(100'000, static_cast<char>('0' + i)), encoding::text, "a"));
        r.show(fits);
    }
    for (int i = 0; i < 3; ++i) {
        auto large =
            update(of("text/html", std::string((1 << 20) - 100, static_cast<char>('5' + i)), encoding::text, "b"));
        r.show(large); // there is no display of this id
    }
    auto const result = r.finish();
    REQUIRE(result.displays.size() == 5000);
    auto const* const first = result.displays[0].data.find("text/html");
    CHECK((*first == std::string(100'000, '2')));
    CHECK(result.displays[4999].data.find("text/html") == first); // the very same
    CHECK(files_in(spill) == 0);

    auto spilled = make({1000, 1000, 1 << 20});
    for (int i = 0; i < 500; ++i) {
        auto d = of("text/html", "x", encoding::text, "a");
        spilled.show(d);
    }
    for (int i = 0; i < 20; ++i) {
        auto d = update(of("text/html", std::string(500'000, static_cast<char>('a' + i)), encoding::text, "a"));
        spilled.show(d);
    }
    auto const other = spilled.finish();
    CHECK(files_in(spill) == 1); // an update replaces the file of the one before
    CHECK(other.files_left_out == 0);
    CHECK(other.displays[0].spill_file == other.displays[499].spill_file);
    CHECK(contains(test::read_file(other.displays[0].spill_file), "tttt"));
}

TEST_CASE_METHOD(scratch_recorder, "output_recorder: a display that came behind an update keeps its own content") {
    auto r = make();
    auto a = of("text/html", "1", encoding::text, "a");
    auto b = of("text/html", "2", encoding::text, "a");
    auto new_a = update(of("text/html", "new", encoding::text, "a"));
    r.show(a);
    r.show(new_a);
    r.show(b);
    auto const result = r.finish();
    REQUIRE(result.displays.size() == 2);
    CHECK(*result.displays[0].data.find("text/html") == "new");
    CHECK(*result.displays[1].data.find("text/html") == "2");
}

TEST_CASE("output_places: links of the code's making are not followed") {
    test::scratch_dir const dir;
    auto const work = dir.path() / "work";
    auto const outside = dir.path() / "outside";
    std::filesystem::create_directories(work);
    std::filesystem::create_directories(outside);
    auto const settings = [&](std::filesystem::path const& images) {
        return detail::output_places::settings{images, dir.path() / "spill", work, detail::spilled_files::removed};
    };
    detail::output_places before(settings(work / "images"));
    detail::output_places deep(settings(work / "a" / "b" / "images"));
    std::filesystem::create_directory_symlink(outside, work / "images");
    std::filesystem::create_directory_symlink(outside, work / "a");
    detail::output_places after(settings(work / "images"));
    for (auto* places : {&before, &after, &deep}) {
        auto const file = places->make_image();
        REQUIRE_FALSE(file);
        CHECK(file.error() == errc::io_error);
        CHECK(contains(file.error().text(), "is a symbolic link"));
    }
    CHECK(files_in(outside) == 0);

    detail::output_places elsewhere(settings(work / "pictures"));
    REQUIRE(elsewhere.make_image());
    std::filesystem::rename(work / "pictures", work / "moved");
    std::filesystem::create_directory_symlink(outside, work / "pictures");
    REQUIRE(elsewhere.make_image()); // where it was, under its new name
    CHECK(files_in(work / "moved") == 2);
    CHECK(files_in(outside) == 0);
}

TEST_CASE("output_places: spilled files go with their executor, where nobody asked for them") {
    test::scratch_dir const dir;
    for (auto const afterwards : {detail::spilled_files::removed, detail::spilled_files::kept}) {
        {
            detail::output_places places({dir.path() / "images", dir.path() / "spill", dir.path(), afterwards});
            REQUIRE(places.make_image());
            REQUIRE(places.make_spill_file("x-", ".txt"));
            auto const gone = places.make_spill_file("y-", ".txt");
            places.remove_spill_file(gone->path);
            CHECK(files_in(dir.path() / "spill") == 1);
        }
        CHECK(files_in(dir.path() / "spill") == (afterwards == detail::spilled_files::kept ? 1 : 0));
    }
    CHECK(files_in(dir.path() / "images") == 2);
}
