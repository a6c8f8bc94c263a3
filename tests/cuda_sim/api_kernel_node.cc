#include <map>

#include "tests/cuda_sim/node_params.h"

/// Kernel nodes of graphs: parameters and attributes.
namespace sim {

namespace {

/// Kernel parameters as cuGraphKernelNodeGetParams gives them: pointers that live as long as the node's parameters.
void** param_pointers(const WorkPtr& w) {
  static std::map<const Work*, std::pair<std::weak_ptr<const Work>, std::vector<void*>>> kept;
  std::erase_if(kept, [](const auto& k) { return k.second.first.expired(); });
  auto& [owner, list] = kept[w.get()];
  const auto& k = std::get<KernelWork>(*w);
  owner = w;
  list.clear();
  for (const Parameter& p : k.function->params) list.push_back(const_cast<char*>(k.params.data()) + p.offset);
  return list.data();
}

/// What of a node's attributes is simulated; the others that a driver knows are as nobody has set them.
CUresult attribute(const char* entry, CUgraphNode h, int id, CUlaunchAttributeValue* out,
                   const CUlaunchAttributeValue* in) {
  return api(entry, kContext, [&] {
    auto n = find<Node>(h);
    Attributes a = work_of<KernelWork>(*n).attributes;
    if (out) *out = {};
    switch (id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        if (out) out->cooperative = a.cooperative;
        if (in) a.cooperative = in->cooperative;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        require(settings().arch >= 90, CUDA_ERROR_NOT_SUPPORTED, "clusters need sm_90");
        if (out) out->clusterDim.x = a.cluster.x, out->clusterDim.y = a.cluster.y, out->clusterDim.z = a.cluster.z;
        if (in) a.cluster = {in->clusterDim.x, in->clusterDim.y, in->clusterDim.z};
        break;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        if (out) out->priority = a.priority;
        if (in) a.priority = in->priority;
        break;
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case 11:  // CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, of later versions of cuda.h
      case 14:  // CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
        require(out, CUDA_ERROR_NOT_SUPPORTED, "attribute ", id, " is not simulated");
        break;
      default: fail(CUDA_ERROR_INVALID_VALUE, "attribute ", id, " of a kernel node");
    }
    if (in) n->work = with_attributes(n->work, a);
  });
}

}  // namespace
}  // namespace sim

using namespace sim;

SIM_ENTRY cuGraphKernelNodeGetParams(CUgraphNode h, CUDA_KERNEL_NODE_PARAMS* p) {
  return api(__func__, kContext, [&] {
    auto n = find<Node>(h);
    const auto& k = work_of<KernelWork>(*n);
    *p = {};
    // A library's kernel is known by its CUkernel, for whatever context it is to run in.
    if (k.function->stand_in) p->kern = reinterpret_cast<CUkernel>(k.function->kernel_handle);
    else p->func = as<CUfunction>(*k.function);
    p->gridDimX = k.grid.x, p->gridDimY = k.grid.y, p->gridDimZ = k.grid.z;
    p->blockDimX = k.block.x, p->blockDimY = k.block.y, p->blockDimZ = k.block.z;
    p->sharedMemBytes = k.shared_bytes;
    p->kernelParams = param_pointers(n->work);
  });
}
SIM_ENTRY cuGraphKernelNodeSetParams(CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS* p) {
  return api(__func__, kContext, [&] {
    const Attributes kept = work_of<KernelWork>(*find<Node>(h)).attributes;
    set_work<KernelWork>(h, with_attributes(kernel_node_work(*p), kept));
  });
}
SIM_ENTRY cuGraphKernelNodeGetAttribute(CUgraphNode h, CUkernelNodeAttrID id, CUkernelNodeAttrValue* out) {
  return attribute(__func__, h, static_cast<int>(id), out, nullptr);
}
SIM_ENTRY cuGraphKernelNodeSetAttribute(CUgraphNode h, CUkernelNodeAttrID id, const CUkernelNodeAttrValue* in) {
  return attribute(__func__, h, static_cast<int>(id), nullptr, in);
}
SIM_ENTRY cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return api(__func__, kContext, [&] {
    auto n = find<Node>(to);
    work_of<KernelWork>(*n);
    n->work = with_attributes(n->work, work_of<KernelWork>(*find<Node>(from)).attributes);
  });
}
