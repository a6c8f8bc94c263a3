#pragma once
#include "tests/cuda_sim/graph.h"

/// Node parameters, from the driver's structures and back.
namespace sim {

/// From any of the structures that describe a kernel node.
template <class P>
WorkPtr kernel_node_work(const P& p) {
  const void* f = p.func ? static_cast<const void*>(p.func) : static_cast<const void*>(p.kern);
  return std::make_shared<const Work>(make_kernel_work(f, {p.gridDimX, p.gridDimY, p.gridDimZ},
                                                       {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes,
                                                       p.kernelParams, p.extra));
}
template <class P>
WorkPtr memset_node_work(const P& p, const char* entry) {
  return std::make_shared<const Work>(make_memset(p.dst, p.pitch, p.value, p.elementSize, p.width, p.height, entry));
}
WorkPtr copy_node_work(const CUDA_MEMCPY3D& p, const char* entry);
/// What a node of this type would do with these parameters. Fails with CUDA_ERROR_NOT_SUPPORTED for other types.
WorkPtr node_work(const CUgraphNodeParams& p, const char* entry);

template <class T>
const T& work_of(const Node& n) {
  const T* w = n.work ? std::get_if<T>(n.work.get()) : nullptr;
  require(w, CUDA_ERROR_INVALID_VALUE, "the node is of another type");
  return *w;
}
/// Gives a node of T's type new parameters.
template <class T>
void set_work(CUgraphNode h, WorkPtr w) {
  auto n = find<Node>(h);
  work_of<T>(*n);
  n->work = std::move(w);
}
/// A kernel's new parameters, with the attributes that its node has.
inline WorkPtr with_attributes(const WorkPtr& w, const Attributes& a) {
  KernelWork k = std::get<KernelWork>(*w);
  k.attributes = a;
  return std::make_shared<const Work>(std::move(k));
}

}  // namespace sim
