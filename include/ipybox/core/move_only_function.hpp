#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace ipybox::detail {

/// The callable of a `move_only_function`, without its signature. A small one is kept in place, others on the heap.
class owned_callable {
  public:
    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

  protected:
    template <class F>
    static constexpr bool fits =
        sizeof(F) <= 4 * sizeof(void*) && alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;

    owned_callable() noexcept = default;
    owned_callable(owned_callable&& other) noexcept { take(other); }
    owned_callable& operator=(owned_callable&& other) noexcept {
        if (this == &other) return *this;
        owned_callable const replaced(std::move(*this)); // its destructor may use this object
        take(other);
        return *this;
    }
    ~owned_callable() {
        if (object_) manage_(object_, nullptr);
    }

    template <class F>
    void own(F f) {
        if constexpr (fits<F>)
            object_ = ::new (static_cast<void*>(room_)) F(std::move(f));
        else
            object_ = new F(std::move(f));
        manage_ = &manage<F>;
    }

    [[nodiscard]] void* object() const noexcept { return object_; }

  private:
    /// Moves the callable into the room of another owner and says where it is then. Without room it is destroyed.
    template <class F>
    static void* manage(void* object, void* room) noexcept {
        auto* const f = static_cast<F*>(object);
        if constexpr (fits<F>) {
            if (room) room = ::new (room) F(std::move(*f));
            f->~F();
            return room;
        } else {
            if (room) return object;
            delete f;
            return nullptr;
        }
    }

    void take(owned_callable& other) noexcept {
        if (!other.object_) return;
        manage_ = other.manage_;
        object_ = manage_(std::exchange(other.object_, nullptr), room_);
    }

    void* object_ = nullptr;
    void* (*manage_)(void* object, void* room) = nullptr;
    alignas(void*) std::byte room_[4 * sizeof(void*)];
};

/**
 * \brief `std::move_only_function` of C++23: calls a function object that need not be copyable.
 * \details What has four words or fewer, and moves without exceptions, needs no allocation. A null pointer to a
 * function and an empty `std::function` give an empty one. An empty one must not be called.
 */
template <class Signature>
class move_only_function;

template <class R, class... Arguments>
class move_only_function<R(Arguments...)> : public owned_callable {
  public:
    move_only_function() noexcept = default;
    move_only_function(std::nullptr_t) noexcept {} // NOLINT: as the standard's

    template <class F>
        requires(!std::is_same_v<F, move_only_function> && std::is_invocable_r_v<R, F&, Arguments...>)
    move_only_function(F f) { // NOLINT: as the standard's
        if constexpr (requires { f = nullptr; })
            if (!f) return;
        own(std::move(f));
        call_ = &call<F>;
    }

    R operator()(Arguments... arguments) { return call_(object(), std::forward<Arguments>(arguments)...); }

  private:
    template <class F>
    static R call(void* object, Arguments... arguments) {
        return static_cast<R>((*static_cast<F*>(object))(std::forward<Arguments>(arguments)...));
    }

    R (*call_)(void* object, Arguments... arguments) = nullptr;
};

} // namespace ipybox::detail
