#include <chrono>

#include "tests/cuda_sim/capture.h"

using namespace sim;

namespace {

CUresult create_stream(const char* entry, CUstream* out, unsigned flags, int priority) {
  return api(entry, kContext, [&] {
    require(out && flags <= CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    auto s = std::make_shared<Stream>();
    s->blocking = flags != CU_STREAM_NON_BLOCKING;
    s->flags = flags;
    s->priority = priority;
    add_stream(s);
    *out = as<CUstream>(*s);
  });
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_over(const Event& e) { return !e.stream || e.stream->done >= e.number; }

}  // namespace

SIM_ENTRY cuStreamCreate(CUstream* s, unsigned flags) { return create_stream(__func__, s, flags, 0); }
SIM_ENTRY cuStreamCreateWithPriority(CUstream* s, unsigned flags, int priority) {
  return create_stream(__func__, s, flags, priority);
}
SIM_ENTRY cuStreamDestroy(CUstream h) {
  return api(__func__, kAfterFailure, [&] {
    auto s = find<Stream>(h);
    // Work that is left still runs.
    remove_handle(s->handle);
  });
}
SIM_ENTRY cuStreamSynchronize(CUstream h) {
  return api(__func__, kContext, [&]() -> CUresult {
    auto s = stream_of(h);
    refuse_in_capture(*s, "cuStreamSynchronize");
    drain(s);
    return sticky_error();
  });
}
SIM_ENTRY cuStreamQuery(CUstream h) {
  return api(__func__, kContext, [&]() -> CUresult {
    auto s = stream_of(h);
    refuse_in_capture(*s, "cuStreamQuery");
    if (!s->queue.empty()) return CUDA_ERROR_NOT_READY;
    host_waited_for(s->clock);
    return CUDA_SUCCESS;
  });
}
SIM_ENTRY cuStreamGetPriority(CUstream h, int* priority) {
  return api(__func__, kContext, [&] { *priority = stream_of(h)->priority; });
}
SIM_ENTRY cuStreamGetFlags(CUstream h, unsigned* flags) {
  return api(__func__, kContext, [&] { *flags = stream_of(h)->flags; });
}
SIM_ENTRY cuStreamGetCtx(CUstream h, CUcontext* c) {
  return api(__func__, kContext, [&] { stream_of(h), *c = nullptr, cuCtxGetCurrent(c); });
}
SIM_ENTRY cuStreamGetDevice(CUstream h, CUdevice* d) {
  return api(__func__, kContext, [&] { stream_of(h), *d = 0; });
}
SIM_ENTRY cuLaunchHostFunc(CUstream h, CUhostFn f, void* data) {
  return api(__func__, kContext, [&] {
    require(f, CUDA_ERROR_INVALID_VALUE);
    submit(stream_of(h), HostWork{f, data});
  });
}

// ---- events

SIM_ENTRY cuEventCreate(CUevent* out, unsigned flags) {
  return api(__func__, kContext, [&] {
    auto e = std::make_shared<Event>();
    e->flags = flags;
    add_handle(e);
    *out = as<CUevent>(*e);
  });
}
SIM_ENTRY cuEventDestroy(CUevent h) {
  return api(__func__, kAfterFailure, [&] { remove_handle(find<Event>(h)->handle); });
}
SIM_ENTRY cuEventRecord(CUevent h, CUstream stream) {
  return api(__func__, kContext, [&] {
    auto e = find<Event>(h);
    auto s = stream_of(stream);
    e->capture = s->capture;
    if (s->capture) {
      e->captured = s->capture->last[s.get()];
      return;
    }
    auto at = e->time_ns = std::make_shared<std::int64_t>(0);
    submit(s, ActionWork{[at] { *at = now_ns(); }});
    e->stream = s;
    e->number = s->enqueued;
    e->clock = s->clock;
  });
}
SIM_ENTRY cuEventRecordWithFlags(CUevent h, CUstream stream, unsigned) { return cuEventRecord(h, stream); }
SIM_ENTRY cuEventQuery(CUevent h) {
  return api(__func__, kContext, [&]() -> CUresult {
    auto e = find<Event>(h);
    require(!e->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the event was recorded in a capture");
    if (!is_over(*e)) return CUDA_ERROR_NOT_READY;
    host_waited_for(e->clock);
    return CUDA_SUCCESS;
  });
}
SIM_ENTRY cuEventSynchronize(CUevent h) {
  return api(__func__, kContext, [&]() -> CUresult {
    auto e = find<Event>(h);
    require(!e->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the event was recorded in a capture");
    if (e->stream) run_until(e->stream, e->number);
    host_waited_for(e->clock);
    return sticky_error();
  });
}
namespace {
CUresult elapsed(const char* entry, float* ms, CUevent from, CUevent to) {
  return api(entry, kContext, [&]() -> CUresult {
    auto a = find<Event>(from), b = find<Event>(to);
    require(!((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING) && a->stream && b->stream, CUDA_ERROR_INVALID_HANDLE,
            "events without times");
    if (!is_over(*a) || !is_over(*b)) return CUDA_ERROR_NOT_READY;
    *ms = static_cast<float>(*b->time_ns - *a->time_ns) * 1e-6f;
    return CUDA_SUCCESS;
  });
}
}  // namespace
SIM_ENTRY cuEventElapsedTime(float* ms, CUevent from, CUevent to) { return elapsed(__func__, ms, from, to); }
#undef cuEventElapsedTime
SIM_ENTRY cuEventElapsedTime(float* ms, CUevent from, CUevent to) { return elapsed(__func__, ms, from, to); }

SIM_ENTRY cuStreamWaitEvent(CUstream stream, CUevent h, unsigned) {
  return api(__func__, kContext, [&] {
    auto s = stream_of(stream);
    auto e = find<Event>(h);
    if (e->capture) {
      // The stream joins the capture.
      require(!e->capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
      require(!s->capture || s->capture == e->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE, "two captures");
      if (!s->capture) {
        s->capture = e->capture;
        e->capture->streams.push_back(s);
      }
      auto& last = s->capture->last[s.get()];
      last.insert(last.end(), e->captured.begin(), e->captured.end());
      return;
    }
    require(!s->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a capture waits for an event outside of it");
    if (e->stream && !is_over(*e)) s->waits.push_back({e->stream, e->number});
    join(s->clock, e->clock);
  });
}
