#pragma once
#include <utility>

namespace reprise {

/// This thread's own T (one for each Tag), made when first asked for and destroyed with the thread. Unlike a
/// thread_local variable it is also there in destructors of static objects, which run after those of the main thread's
/// variables: a new one is made then, and never destroyed.
template <class T, class Tag = T>
T& thread_object();

namespace detail {
template <class T, class Tag>
inline constinit thread_local T* object_of_thread = nullptr;

// Apart, so that what is asked at every call is two moves where it is asked.
template <class T, class Tag>
[[gnu::noinline, gnu::cold]] T& make_thread_object() {
  struct End {
    ~End() { delete std::exchange(object_of_thread<T, Tag>, nullptr); }
  };
  static thread_local End end;
  static_cast<void>(end);
  return *(object_of_thread<T, Tag> = new T);
}
}  // namespace detail

template <class T, class Tag>
inline T& thread_object() {
  T* object = detail::object_of_thread<T, Tag>;
  return object ? *object : detail::make_thread_object<T, Tag>();
}

}  // namespace reprise
