// MPI behind comm/mpi_plugin/api.h: the one file that sees mpi.h.
// (Not the C++ interface of old versions.)
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <chrono>
#include <thread>

#include "comm/mpi_plugin/api.h"

namespace {

bool g_started = false;

/// Until the request is done, awake at first: MPI makes progress only while it is asked.
int wait(MPI_Request* requests, int n, double timeout) {
  const auto since = std::chrono::steady_clock::now();
  for (long i = 0;; ++i) {
    int done = 0;
    if (MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return REPRISE_MPI_FAILED;
    if (done) return REPRISE_MPI_DONE;
    if (i < 2000) continue;
    std::this_thread::yield();
    if (i % 100 == 0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count() > timeout)
      return REPRISE_MPI_TIME_OUT;
  }
}

MPI_Comm comm_of(void* group) { return *static_cast<MPI_Comm*>(group); }

int start(int* rank, int* size) {
  int begun = 0;
  MPI_Initialized(&begun);
  if (!begun) {
    int given = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given) != MPI_SUCCESS) return 1;
    g_started = true;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return MPI_Comm_rank(MPI_COMM_WORLD, rank) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, size) != MPI_SUCCESS;
}

// Groups are as many as a mesh has axes, and live as long as the process.
void* group(const int* ranks, int n) {
  MPI_Group world, members;
  auto* made = new MPI_Comm(MPI_COMM_NULL);
  if (MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS &&
      MPI_Group_incl(world, n, ranks, &members) == MPI_SUCCESS &&
      MPI_Comm_create_group(MPI_COMM_WORLD, members, 1, made) == MPI_SUCCESS && *made != MPI_COMM_NULL) {
    MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN);
    MPI_Group_free(&members), MPI_Group_free(&world);
    return made;
  }
  delete made;
  return nullptr;
}

int all_gather(void* g, const void* in, void* out, std::size_t bytes, double timeout) {
  MPI_Request r;
  const int n = static_cast<int>(bytes);
  if (MPI_Iallgather(in, n, MPI_BYTE, out, n, MPI_BYTE, comm_of(g), &r) != MPI_SUCCESS) return REPRISE_MPI_FAILED;
  return wait(&r, 1, timeout);
}

int all_to_all(void* g, const void* in, void* out, std::size_t bytes, double timeout) {
  MPI_Request r;
  const int n = static_cast<int>(bytes);
  if (MPI_Ialltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, comm_of(g), &r) != MPI_SUCCESS) return REPRISE_MPI_FAILED;
  return wait(&r, 1, timeout);
}

int broadcast(void* g, void* data, std::size_t bytes, int root, double timeout) {
  MPI_Request r;
  if (MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm_of(g), &r) != MPI_SUCCESS)
    return REPRISE_MPI_FAILED;
  return wait(&r, 1, timeout);
}

int send_recv(const void* in, int to, void* out, int from, std::size_t bytes, double timeout) {
  MPI_Request r[2];
  int n = 0;
  const int count = static_cast<int>(bytes), tag = 2;
  if (from >= 0 && MPI_Irecv(out, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, &r[n++]) != MPI_SUCCESS)
    return REPRISE_MPI_FAILED;
  if (to >= 0 && MPI_Isend(in, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, &r[n++]) != MPI_SUCCESS)
    return REPRISE_MPI_FAILED;
  return wait(r, n, timeout);
}

void stop(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void finish() {
  int over = 0;
  MPI_Finalized(&over);
  if (g_started && !over) MPI_Finalize();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const reprise_mpi_api* reprise_mpi_plugin(void) {
  static const reprise_mpi_api api{REPRISE_MPI_VERSION, start,     group, all_gather, all_to_all,
                                   broadcast,           send_recv, stop,  finish};
  return &api;
}
