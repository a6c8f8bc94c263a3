#pragma once
#include <cstddef>

/// What libreprise_mpi.so gives: MPI as functions of bytes, so that the library itself is built without MPI and serves
/// every implementation of it. C, since the plugin is another shared object, made by another compiler perhaps.
extern "C" {

#define REPRISE_MPI_VERSION 1

enum reprise_mpi_outcome { REPRISE_MPI_DONE = 0, REPRISE_MPI_TIME_OUT = 1, REPRISE_MPI_FAILED = 2 };

struct reprise_mpi_api {
  int version;
  /// Initializes MPI unless somebody has. 0: done.
  int (*start)(int* rank, int* size);
  /// A group of the world's ranks, ascending, which all of them make at the same time. Null: failed.
  void* (*group)(const int* ranks, int n);
  // `timeout` in seconds. Bytes are of one rank.
  int (*all_gather)(void* group, const void* in, void* out, std::size_t bytes, double timeout);
  int (*all_to_all)(void* group, const void* in, void* out, std::size_t bytes, double timeout);
  int (*broadcast)(void* group, void* data, std::size_t bytes, int root, double timeout);
  /// Between ranks of the world; -1: none.
  int (*send_recv)(const void* in, int to, void* out, int from, std::size_t bytes, double timeout);
  void (*abort)(int code);
  /// Ends MPI, where start() began it.
  void (*finish)(void);
};

/// What the library looks for in the plugin.
typedef const struct reprise_mpi_api* (*reprise_mpi_plugin_fn)(void);
}
