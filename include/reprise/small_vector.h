#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// A vector whose first N elements need no heap. For trivially copyable T only, which is all it is used for.
template <class T, std::size_t N>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVec() noexcept {}
  SmallVec(std::size_t n, const T& v) { resize(n, v); }
  SmallVec(std::initializer_list<T> l) { append(l.begin(), l.end()); }
  template <class It>
  requires(!std::is_integral_v<It>) SmallVec(It b, It e) { append(b, e); }
  SmallVec(const SmallVec& o) { append(o.begin(), o.end()); }
  SmallVec(SmallVec&& o) noexcept { steal(o); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) {
      clear();
      append(o.begin(), o.end());
    }
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      release();
      steal(o);
    }
    return *this;
  }
  ~SmallVec() { release(); }

  T* data() noexcept { return ptr_; }
  const T* data() const noexcept { return ptr_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return ptr_; }
  T* end() noexcept { return ptr_ + size_; }
  const T* begin() const noexcept { return ptr_; }
  const T* end() const noexcept { return ptr_ + size_; }
  T& operator[](std::size_t i) { return ptr_[i]; }
  const T& operator[](std::size_t i) const { return ptr_[i]; }
  T& back() { return ptr_[size_ - 1]; }
  const T& back() const { return ptr_[size_ - 1]; }
  T& front() { return ptr_[0]; }
  const T& front() const { return ptr_[0]; }
  SmallVec vec() const { return *this; }  ///< what libtorch's programs ask of a borrowed list of sizes

  void clear() noexcept { size_ = 0; }
  void push_back(const T& v) {
    T copy = v;  // v may live in this very vector
    reserve(size_ + 1);
    ::new (static_cast<void*>(ptr_ + size_)) T(copy);
    ++size_;
  }
  void pop_back() { --size_; }
  void resize(std::size_t n, const T& v = T()) {
    T copy = v;
    reserve(n);
    for (std::size_t i = size_; i < n; ++i) ::new (static_cast<void*>(ptr_ + i)) T(copy);
    size_ = n;
  }
  template <class It>
  void append(It b, It e) {
    for (; b != e; ++b) push_back(*b);
  }
  T* insert(T* at, const T& v) {
    std::size_t i = static_cast<std::size_t>(at - ptr_);
    push_back(v);
    std::rotate(ptr_ + i, ptr_ + size_ - 1, ptr_ + size_);
    return ptr_ + i;
  }
  T* erase(T* at) {
    std::move(at + 1, end(), at);
    --size_;
    return at;
  }
  void reserve(std::size_t n) {
    if (n <= cap_) return;
    std::size_t cap = std::max(n, cap_ * 2);
    T* p = static_cast<T*>(::operator new(cap * sizeof(T)));
    for (std::size_t i = 0; i < size_; ++i) ::new (static_cast<void*>(p + i)) T(ptr_[i]);
    release();
    ptr_ = p;
    cap_ = cap;
  }
  friend bool operator==(const SmallVec& a, const SmallVec& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* inline_ptr() noexcept { return reinterpret_cast<T*>(buf_); }
  void release() noexcept {
    if (ptr_ != inline_ptr()) ::operator delete(ptr_);
    ptr_ = inline_ptr();
    cap_ = N;
  }
  void steal(SmallVec& o) noexcept {
    if (o.ptr_ == o.inline_ptr()) {
      for (std::size_t i = 0; i < o.size_; ++i) ::new (static_cast<void*>(ptr_ + i)) T(o.ptr_[i]);
      size_ = o.size_;
    } else {
      ptr_ = std::exchange(o.ptr_, o.inline_ptr());
      cap_ = std::exchange(o.cap_, N);
      size_ = o.size_;
    }
    o.size_ = 0;
  }

  alignas(T) unsigned char buf_[sizeof(T) * N];
  T* ptr_ = inline_ptr();
  std::size_t size_ = 0, cap_ = N;
};

}  // namespace REPRISE_VISIBLE
