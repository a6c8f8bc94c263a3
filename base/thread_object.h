#pragma once
#include <utility>

namespace reprise {

/// This thread's own T (one for each Tag), made when first asked for and destroyed with the thread. Unlike a thread_local variable it
/// is also there in destructors of static objects, which run after those of the main thread's variables: a new one is made
/// then, and never destroyed.
template <class T, class Tag = T>
T& thread_object() {
  static constinit thread_local T* object = nullptr;
  struct End {
    ~End() { delete std::exchange(object, nullptr); }
  };
  if (!object) [[unlikely]] {
    static thread_local End end;
    static_cast<void>(end);
    object = new T;
  }
  return *object;
}

}  // namespace reprise
