#include <ipybox/core/move_only_function.hpp>

#include <support/catch.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using ipybox::detail::move_only_function;

static_assert(std::is_nothrow_move_constructible_v<move_only_function<void()>>);
static_assert(std::is_nothrow_move_assignable_v<move_only_function<void()>>);
static_assert(!std::is_copy_constructible_v<move_only_function<void()>>);
static_assert(std::is_constructible_v<move_only_function<void()>, int (*)()>); // a result may be dropped
static_assert(!std::is_constructible_v<move_only_function<int()>, void (*)()>);
static_assert(!std::is_constructible_v<move_only_function<void()>, void (*)(int)>);

/// A function object of a given size that counts its instances and tells where it is.
template <std::size_t Size, bool ThrowingMove = false>
class counted_callable {
  public:
    explicit counted_callable(int& alive) : alive_(&alive) { ++*alive_; }
    counted_callable(counted_callable&& other) noexcept(!ThrowingMove) : alive_(other.alive_) { ++*alive_; }
    counted_callable(counted_callable const&) = delete;
    counted_callable& operator=(counted_callable&&) = delete;
    counted_callable& operator=(counted_callable const&) = delete;
    ~counted_callable() { --*alive_; }
    void const* operator()() const { return this; }

  private:
    int* alive_;
    std::array<char, Size - sizeof(int*)> rest_{};
};

template <class F>
bool is_within(void const* place, F const& function) {
    auto const at = reinterpret_cast<std::uintptr_t>(place);
    auto const begin = reinterpret_cast<std::uintptr_t>(&function);
    return at >= begin && at < begin + sizeof(function);
}

using telling = move_only_function<void const*()>;
using small_callable = counted_callable<4 * sizeof(void*)>;
using large_callable = counted_callable<4 * sizeof(void*) + 1>;
using unwieldy_callable = counted_callable<2 * sizeof(void*), true>;

int doubled(int v) { return 2 * v; }

} // namespace

TEST_CASE("move_only_function: arguments and results of any kind") {
    move_only_function<int(std::unique_ptr<int>, int&)> sum = [own = std::make_unique<int>(1)](auto v, int& at) {
        at = 3;
        return *v + *own;
    };
    int seen = 0;
    CHECK(sum(std::make_unique<int>(41), seen) == 42);
    CHECK(seen == 3);

    move_only_function<int&()> place = [&seen]() -> int& { return seen; };
    place() = 4;
    CHECK(seen == 4);

    move_only_function<void()> count = [&seen] { return ++seen; };
    count();
    CHECK(seen == 5);

    move_only_function<int(int)> pointer = &doubled;
    CHECK(pointer(4) == 8);
    move_only_function<std::string(char const*)> copied =
        std::function<std::string(std::string)>([](std::string const& text) { return text + "!"; });
    CHECK(copied("text") == "text!");
}

TEST_CASE("move_only_function: its state changes from call to call") {
    move_only_function<int()> next = [n = 0]() mutable { return ++n; };
    CHECK(next() == 1);
    auto moved = std::move(next);
    CHECK(moved() == 2);
}

TEST_CASE("move_only_function: a small callable is kept in place, others on the heap") {
    int alive = 0;
    {
        telling in_place = small_callable(alive);
        telling on_heap = large_callable(alive);
        telling also_on_heap = unwieldy_callable(alive);
        CHECK(alive == 3);
        CHECK(is_within(in_place(), in_place));
        CHECK_FALSE(is_within(on_heap(), on_heap));
        CHECK_FALSE(is_within(also_on_heap(), also_on_heap));

        auto const* const before = on_heap();
        telling moved = std::move(on_heap);
        CHECK(moved() == before);
        telling moved_too = std::move(in_place);
        CHECK(is_within(moved_too(), moved_too));
        CHECK(alive == 3);
    }
    CHECK(alive == 0);
}

TEST_CASE("move_only_function: empty ones") {
    move_only_function<void()> f;
    CHECK_FALSE(f);
    CHECK_FALSE(move_only_function<void()>(nullptr));
    CHECK_FALSE(move_only_function<void()>(std::function<void()>()));
    CHECK_FALSE(move_only_function<int(int)>(static_cast<int (*)(int)>(nullptr)));
    CHECK_FALSE(move_only_function<void()>(move_only_function<int()>()));
    f = [] {};
    CHECK(f);
    auto const moved = std::move(f);
    CHECK(moved);
    CHECK_FALSE(f); // NOLINT(bugprone-use-after-move)
    move_only_function<void()> none = std::move(f);
    CHECK_FALSE(none);
}

TEST_CASE("move_only_function: an assignment destroys the callable that was there") {
    for (bool const is_small : {true, false}) {
        int first = 0;
        int second = 0;
        auto const make = [&](int& alive) {
            return is_small ? telling(small_callable(alive)) : telling(large_callable(alive));
        };
        telling f = make(first);
        f = make(second);
        CHECK(first == 0);
        CHECK(second == 1);
        auto& same = f;
        f = std::move(same);
        CHECK(f);
        CHECK(second == 1);
        f = nullptr;
        CHECK_FALSE(f);
        CHECK(second == 0);
    }
}

TEST_CASE("move_only_function: the destructor of a callable may use the function that owned it") {
    struct looking {
        explicit looking(move_only_function<int()>& f) : owner(&f) {}
        looking(looking&& other) noexcept : owner(std::exchange(other.owner, nullptr)) {}
        looking(looking const&) = delete;
        looking& operator=(looking&&) = delete;
        looking& operator=(looking const&) = delete;
        ~looking() {
            if (owner) *owner = nullptr;
        }
        int operator()() const { return 1; }
        move_only_function<int()>* owner;
    };
    move_only_function<int()> f;
    f = looking(f);
    CHECK(f() == 1);
    f = nullptr;
    CHECK_FALSE(f);
}

TEST_CASE("move_only_function: an exception passes through") {
    move_only_function<void()> f = [] { throw std::runtime_error("thrown"); };
    CHECK_THROWS_WITH(f(), "thrown");
    CHECK(f);
}
