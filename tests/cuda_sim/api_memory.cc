#include <cstring>

#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/stream.h"

using namespace sim;
using What = Allocation::What;

SIM_ENTRY cuMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  return api(__func__, kContext, [&] {
    const std::uint64_t all = settings().memory, used = memory().used();
    *free_bytes = all > used ? all - used : 0;
    *total = all;
  });
}
SIM_ENTRY cuMemAlloc(CUdeviceptr* p, std::size_t bytes) {
  return api(__func__, kContext, [&] { *p = memory().allocate(bytes, "cuMemAlloc"); });
}
SIM_ENTRY cuMemFree(CUdeviceptr p) {
  return api(__func__, kAfterFailure, [&] {
    if (!p) return;
    memory().at(p, What::Device, "cuMemFree");
    drain_everything();
    memory().release(p, What::Device, "cuMemFree");
  });
}
SIM_ENTRY cuMemAllocHost(void** p, std::size_t bytes) {
  return api(__func__, kContext,
             [&] { *p = reinterpret_cast<void*>(memory().allocate_host(bytes, 0, "cuMemAllocHost")); });
}
SIM_ENTRY cuMemHostAlloc(void** p, std::size_t bytes, unsigned flags) {
  return api(__func__, kContext,
             [&] { *p = reinterpret_cast<void*>(memory().allocate_host(bytes, flags, "cuMemHostAlloc")); });
}
SIM_ENTRY cuMemFreeHost(void* p) {
  return api(__func__, kAfterFailure, [&] {
    if (!p) return;
    memory().at(reinterpret_cast<std::uint64_t>(p), What::Host, "cuMemFreeHost");
    drain_everything();
    memory().release(reinterpret_cast<std::uint64_t>(p), What::Host, "cuMemFreeHost");
  });
}
SIM_ENTRY cuMemHostGetDevicePointer(CUdeviceptr* d, void* p, unsigned) {
  return api(__func__, kContext, [&] {
    require(memory().is_pinned(p), CUDA_ERROR_INVALID_VALUE, p, " is not pinned");
    *d = reinterpret_cast<CUdeviceptr>(p);
  });
}
SIM_ENTRY cuMemHostGetFlags(unsigned* flags, void* p) {
  return api(__func__, kContext, [&] {
    require(memory().is_pinned(p), CUDA_ERROR_INVALID_VALUE, p, " is not pinned");
    *flags = memory().find(reinterpret_cast<std::uint64_t>(p))->host_flags;
  });
}
SIM_ENTRY cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr p) {
  return api(__func__, kContext, [&] {
    const Allocation* a = memory().find(p);
    require(a, CUDA_ERROR_NOT_FOUND, memory().describe(p, 1));
    const Mapping* m = a->what == What::Reserved ? memory().mapping(p) : nullptr;
    if (base) *base = m ? m->base : a->base;
    if (bytes) *bytes = m ? m->bytes : a->bytes;
  });
}

namespace {

/// CUDA_ERROR_INVALID_VALUE for an address that the driver does not know, as with the driver.
void pointer_attribute(void* out, CUpointer_attribute what, CUdeviceptr p) {
  const Allocation* a = memory().find(p);
  require(a, CUDA_ERROR_INVALID_VALUE);
  auto put = [&](auto v) { std::memcpy(out, &v, sizeof v); };
  switch (what) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(a->what == What::Host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return put(p);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: require(a->what == What::Host, CUDA_ERROR_INVALID_VALUE); return put(p);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return put(0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return put(0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return put(a->base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return put(static_cast<std::size_t>(a->bytes));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return put(a->number);
    default: fail(CUDA_ERROR_NOT_SUPPORTED, "pointer attribute ", static_cast<int>(what), " is not simulated");
  }
}

CUmemAllocationProp checked(const CUmemAllocationProp* p) {
  require(p && p->type == CU_MEM_ALLOCATION_TYPE_PINNED && p->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
              p->location.id == 0,
          CUDA_ERROR_INVALID_VALUE, "physical memory of another kind than pinned, on device 0");
  return *p;
}

}  // namespace

SIM_ENTRY cuPointerGetAttribute(void* out, CUpointer_attribute what, CUdeviceptr p) {
  return api(__func__, kContext, [&] { pointer_attribute(out, what, p); });
}
SIM_ENTRY cuPointerGetAttributes(unsigned n, CUpointer_attribute* what, void** out, CUdeviceptr p) {
  return api(__func__, kContext, [&] {
    for (unsigned i = 0; i < n; ++i) {
      if (memory().find(p)) pointer_attribute(out[i], what[i], p);
      else std::memset(out[i], 0, 4);
    }
  });
}

// ---- virtual memory

SIM_ENTRY cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* p,
                                        CUmemAllocationGranularity_flags) {
  return api(__func__, kNoContext, [&] { checked(p), *bytes = settings().granularity; });
}
SIM_ENTRY cuMemAddressReserve(CUdeviceptr* p, std::size_t bytes, std::size_t align, CUdeviceptr wish,
                              unsigned long long flags) {
  return api(__func__, kContext, [&] {
    require(settings().has_mapping, CUDA_ERROR_NOT_SUPPORTED);
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    *p = memory().reserve(bytes, align, wish);
  });
}
SIM_ENTRY cuMemAddressFree(CUdeviceptr p, std::size_t bytes) {
  return api(__func__, kAfterFailure, [&] { memory().unreserve(p, bytes); });
}
SIM_ENTRY cuMemCreate(CUmemGenericAllocationHandle* h, std::size_t bytes, const CUmemAllocationProp* p,
                      unsigned long long flags) {
  return api(__func__, kContext, [&] {
    checked(p);
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    auto m = memory().create(bytes);
    add_handle(m);
    *h = m->handle;
  });
}
SIM_ENTRY cuMemRelease(CUmemGenericAllocationHandle h) {
  // The memory stays until the last mapping is gone.
  return api(__func__, kAfterFailure, [&] { find_handle(h, Kind::Physical), remove_handle(h); });
}
SIM_ENTRY cuMemMap(CUdeviceptr p, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle h,
                   unsigned long long flags) {
  return api(__func__, kContext, [&] {
    require(offset == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE, "cuMemMap with an offset");
    memory().map(p, bytes, std::static_pointer_cast<Physical>(find_handle(h, Kind::Physical)));
  });
}
SIM_ENTRY cuMemUnmap(CUdeviceptr p, std::size_t bytes) {
  return api(__func__, kAfterFailure, [&] {
    // Nothing says that it waits. What names the range by way of other memory finds nothing there when it runs.
    if (std::string use = sticky_error() == CUDA_SUCCESS ? queued_use(p, bytes) : ""; !use.empty())
      report_error(CUDA_ERROR_ILLEGAL_ADDRESS,
                   cat("cuMemUnmap of ", bytes, " bytes at ", hex(p), " before the end of ", use));
    memory().unmap(p, bytes);
  });
}
SIM_ENTRY cuMemSetAccess(CUdeviceptr p, std::size_t bytes, const CUmemAccessDesc* d, std::size_t n) {
  return api(__func__, kContext, [&] {
    for (std::size_t i = 0; i < n; ++i) {
      require(d[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && d[i].location.id == 0, CUDA_ERROR_INVALID_VALUE);
      require(d[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ, CUDA_ERROR_NOT_SUPPORTED,
              "read-only mappings are not simulated");
      memory().set_access(p, bytes, d[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
  });
}

// ---- allocation in the order of a stream

namespace {

struct Pool : Object {
  static constexpr Kind kKind = Kind::Pool;
  Pool() : Object(kKind) {}
  std::map<int, std::uint64_t> attributes;
  std::uint64_t used = 0, most = 0;
};
std::shared_ptr<Pool> default_pool() {
  static std::shared_ptr<Pool> p = [] {
    auto n = std::make_shared<Pool>();
    add_handle(n);
    return n;
  }();
  return p;
}

std::uint64_t allocate_from(const std::shared_ptr<Pool>& pool, std::size_t bytes, CUstream stream, const char* entry) {
  require(settings().has_pools, CUDA_ERROR_NOT_SUPPORTED);
  require(!stream_of(stream)->capture, CUDA_ERROR_NOT_SUPPORTED, "capturing an allocation is not simulated");
  const std::uint64_t p = memory().allocate(bytes, entry);
  Allocation& a = memory().at(p, What::Device, entry);
  a.async = true;
  a.pool = pool->handle;
  pool->used += bytes;
  pool->most = std::max(pool->most, pool->used);
  return p;
}

}  // namespace

SIM_ENTRY cuMemAllocAsync(CUdeviceptr* p, std::size_t bytes, CUstream s) {
  return api(__func__, kContext, [&] { *p = allocate_from(default_pool(), bytes, s, "cuMemAllocAsync"); });
}
SIM_ENTRY cuMemAllocFromPoolAsync(CUdeviceptr* p, std::size_t bytes, CUmemoryPool pool, CUstream s) {
  return api(__func__, kContext, [&] { *p = allocate_from(find<Pool>(pool), bytes, s, "cuMemAllocFromPoolAsync"); });
}
SIM_ENTRY cuMemFreeAsync(CUdeviceptr p, CUstream s) {
  return api(__func__, kAfterFailure, [&] {
    if (!p) return;
    memory().at(p, What::Device, "cuMemFreeAsync");
    auto stream = stream_of(s);
    require(!stream->capture, CUDA_ERROR_NOT_SUPPORTED, "capturing a free is not simulated");
    submit(stream, ActionWork{[p] {
             const Allocation* a = memory().find(p);
             if (!a || a->base != p)
               return report_error(CUDA_ERROR_INVALID_VALUE,
                                   cat("cuMemFreeAsync: freed twice: ", memory().describe(p, 1)));
             if (auto o = find_handle_or_null(a->pool)) std::static_pointer_cast<Pool>(o)->used -= a->bytes;
             memory().release(p, What::Device, "cuMemFreeAsync");
           }});
  });
}
SIM_ENTRY cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice d) {
  return api(__func__, kNoContext,
             [&] { require(d == 0, CUDA_ERROR_INVALID_DEVICE), *pool = as<CUmemoryPool>(*default_pool()); });
}
SIM_ENTRY cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice d) {
  return api(__func__, kNoContext,
             [&] { require(d == 0, CUDA_ERROR_INVALID_DEVICE), *pool = as<CUmemoryPool>(*default_pool()); });
}
SIM_ENTRY cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps*) {
  return api(__func__, kContext, [&] {
    auto p = std::make_shared<Pool>();
    add_handle(p);
    *out = as<CUmemoryPool>(*p);
  });
}
SIM_ENTRY cuMemPoolDestroy(CUmemoryPool p) {
  return api(__func__, kAfterFailure, [&] { remove_handle(find<Pool>(p)->handle); });
}
SIM_ENTRY cuMemPoolTrimTo(CUmemoryPool p, std::size_t) {
  return api(__func__, kContext, [&] { find<Pool>(p); });
}
SIM_ENTRY cuMemPoolSetAttribute(CUmemoryPool p, CUmemPool_attribute a, void* v) {
  return api(__func__, kContext, [&] {
    std::uint64_t n = 0;
    std::memcpy(&n, v, a <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES ? 4 : 8);
    find<Pool>(p)->attributes[a] = n;
  });
}
SIM_ENTRY cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute a, void* v) {
  return api(__func__, kContext, [&] {
    auto p = find<Pool>(pool);
    std::uint64_t n = p->attributes.count(a) ? p->attributes[a] : 0;
    if (a == CU_MEMPOOL_ATTR_USED_MEM_CURRENT || a == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) n = p->used;
    if (a == CU_MEMPOOL_ATTR_USED_MEM_HIGH || a == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) n = p->most;
    std::memcpy(v, &n, a <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES ? 4 : 8);
  });
}

// ---- copies and memsets

namespace {

std::uint64_t n64(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

/// What the source held when the call was made, where the driver reads it before it returns: pageable memory.
void stage(CopyWork& c) {
  if (c.width == 0 || is_device_address(c.from) || memory().is_pinned(reinterpret_cast<void*>(c.from))) return;
  const char* from = reinterpret_cast<const char*>(c.from);
  c.staged = std::make_shared<std::vector<char>>(from, from + c.width);
}

CUresult copy_now(const char* entry, std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  return api(entry, kContext, [&]() -> CUresult {
    submit_and_wait(default_stream(), make_copy(to, from, bytes, entry));
    return sticky_error();
  });
}

CUresult copy_later(const char* entry, std::uint64_t to, std::uint64_t from, std::size_t bytes, CUstream s) {
  return api(entry, kContext, [&]() -> CUresult {
    auto stream = stream_of(s);
    CopyWork c = make_copy(to, from, bytes, entry);
    const bool to_pageable = bytes && !is_device_address(to) && !memory().is_pinned(reinterpret_cast<void*>(to));
    if (!stream->capture) stage(c);
    if (!to_pageable || stream->capture) return submit(stream, std::move(c)), CUDA_SUCCESS;
    // The driver returns when the bytes are in pageable memory.
    submit_and_wait(stream, std::move(c));
    return sticky_error();
  });
}

CUresult memset_any(const char* entry, CUdeviceptr to, std::uint32_t v, std::uint32_t element, std::size_t n,
                    CUstream s) {
  return api(entry, kContext, [&] {
    auto stream = stream_of(s);
    submit(stream, make_memset(to, 0, v, element, n, 1, entry));
  });
}

}  // namespace

SIM_ENTRY cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t n) { return copy_now(__func__, to, from, n); }
SIM_ENTRY cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t n) { return copy_now(__func__, to, n64(from), n); }
SIM_ENTRY cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t n) { return copy_now(__func__, n64(to), from, n); }
SIM_ENTRY cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t n) { return copy_now(__func__, to, from, n); }
SIM_ENTRY cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t n, CUstream s) {
  return copy_later(__func__, to, from, n, s);
}
SIM_ENTRY cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t n, CUstream s) {
  return copy_later(__func__, to, n64(from), n, s);
}
SIM_ENTRY cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t n, CUstream s) {
  return copy_later(__func__, n64(to), from, n, s);
}
SIM_ENTRY cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t n, CUstream s) {
  return copy_later(__func__, to, from, n, s);
}
SIM_ENTRY cuMemsetD8(CUdeviceptr p, unsigned char v, std::size_t n) {
  return memset_any(__func__, p, v, 1, n, nullptr);
}
SIM_ENTRY cuMemsetD16(CUdeviceptr p, unsigned short v, std::size_t n) {
  return memset_any(__func__, p, v, 2, n, nullptr);
}
SIM_ENTRY cuMemsetD32(CUdeviceptr p, unsigned v, std::size_t n) { return memset_any(__func__, p, v, 4, n, nullptr); }
SIM_ENTRY cuMemsetD8Async(CUdeviceptr p, unsigned char v, std::size_t n, CUstream s) {
  return memset_any(__func__, p, v, 1, n, s);
}
SIM_ENTRY cuMemsetD16Async(CUdeviceptr p, unsigned short v, std::size_t n, CUstream s) {
  return memset_any(__func__, p, v, 2, n, s);
}
SIM_ENTRY cuMemsetD32Async(CUdeviceptr p, unsigned v, std::size_t n, CUstream s) {
  return memset_any(__func__, p, v, 4, n, s);
}

extern "C" __attribute__((visibility("default"))) void reprise_simulator_suballocate(uint64_t address, size_t used,
                                                                                     size_t whole, void* stream) {
  std::lock_guard hold(lock());
  auto mark = [=] {
    if (used > whole || !memory().why_not(address, whole).empty()) return;
    memory().mark(address, used, kUnknown);
    memory().mark(address + used, whole - used, kBlocked);
  };
  std::shared_ptr<Object> s = find_handle_or_null(reinterpret_cast<std::uint64_t>(stream));
  if (s && s->kind == Kind::Stream && !std::static_pointer_cast<Stream>(s)->capture)
    submit(std::static_pointer_cast<Stream>(s), ActionWork{mark});
  else mark();
}
