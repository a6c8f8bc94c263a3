#pragma once
#include <string>

/// Kernels for the simulator's tests, as LLVM makes them for the device.
namespace sim_test {

inline const std::string kThreadRegisters = R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
)";

/// out[i] = a[i] * 2^b[i] for i < n, four elements a thread where that is possible.
inline const std::string kPointwise = kThreadRegisters + R"(
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
define ptx_kernel void @pointwise(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias %a, ptr addrspace(1) noalias %b, i64 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %cd = mul i32 %c, %d
  %i32 = add i32 %cd, %t
  %i = zext i32 %i32 to i64
  %in = icmp slt i64 %i, %n
  br i1 %in, label %body, label %end
body:
  %pa = getelementptr float, ptr addrspace(1) %a, i64 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i64 %i
  %po = getelementptr float, ptr addrspace(1) %out, i64 %i
  %x = load float, ptr addrspace(1) %pa, align 4, !invariant.load !0
  %y = load float, ptr addrspace(1) %pb, align 4, !invariant.load !0
  %e = call float @llvm.nvvm.ex2.approx.ftz.f(float %y)
  %r = fmul float %x, %e
  store float %r, ptr addrspace(1) %po, align 4
  br label %end
end:
  ret void
}
!0 = !{}
)";

/// out[block] = sum of in over the block's threads, through shared memory. BARRIER is replaced.
inline const std::string kBlockSum = kThreadRegisters + R"(
declare void @llvm.nvvm.barrier0()
@partial = internal addrspace(3) global [256 x float] undef, align 4
define ptx_kernel void @block_sum(ptr addrspace(1) %out, ptr addrspace(1) %in, i64 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %cd = mul i32 %c, %d
  %i32 = add i32 %cd, %t
  %i = zext i32 %i32 to i64
  %pi = getelementptr float, ptr addrspace(1) %in, i64 %i
  %v = load float, ptr addrspace(1) %pi, align 4
  %ps = getelementptr [256 x float], ptr addrspace(3) @partial, i32 0, i32 %t
  store float %v, ptr addrspace(3) %ps, align 4
  BARRIER
  br label %head
head:
  %step = phi i32 [ 128, %0 ], [ %half, %next ]
  %more = icmp sgt i32 %step, 0
  br i1 %more, label %check, label %last
check:
  %active = icmp slt i32 %t, %step
  br i1 %active, label %add, label %next
add:
  %o = add i32 %t, %step
  %po = getelementptr [256 x float], ptr addrspace(3) @partial, i32 0, i32 %o
  %x = load float, ptr addrspace(3) %ps, align 4
  %y = load float, ptr addrspace(3) %po, align 4
  %s = fadd float %x, %y
  store float %s, ptr addrspace(3) %ps, align 4
  br label %next
next:
  BARRIER
  %half = lshr i32 %step, 1
  br label %head
last:
  %first = icmp eq i32 %t, 0
  br i1 %first, label %write, label %end
write:
  %total = load float, ptr addrspace(3) @partial, align 4
  %pr = getelementptr float, ptr addrspace(1) %out, i32 %c
  store float %total, ptr addrspace(1) %pr, align 4
  br label %end
end:
  ret void
}
)";

/// out[warp] = sum over the warp's 32 values with shfl.down, every lane's value also with shfl.bfly into all[i].
inline const std::string kWarpSum = kThreadRegisters + R"(
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
define ptx_kernel void @warp_sum(ptr addrspace(1) %out, ptr addrspace(1) %all, ptr addrspace(1) %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pi = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load float, ptr addrspace(1) %pi, align 4
  %d16 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %v, i32 16, i32 31)
  %s16 = fadd float %v, %d16
  %d8 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %s16, i32 8, i32 31)
  %s8 = fadd float %s16, %d8
  %d4 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %s8, i32 4, i32 31)
  %s4 = fadd float %s8, %d4
  %d2 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %s4, i32 2, i32 31)
  %s2 = fadd float %s4, %d2
  %d1 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %s2, i32 1, i32 31)
  %s1 = fadd float %s2, %d1
  %x = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v, i32 5, i32 31)
  %pa = getelementptr float, ptr addrspace(1) %all, i32 %t
  store float %x, ptr addrspace(1) %pa, align 4
  %lane = and i32 %t, 31
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %write, label %end
write:
  %w = lshr i32 %t, 5
  %po = getelementptr float, ptr addrspace(1) %out, i32 %w
  store float %s1, ptr addrspace(1) %po, align 4
  br label %end
end:
  ret void
}
)";

/// A kernel whose body is `code`; arguments %p, %q (pointers) and %n. %t is the thread's number in the grid.
inline std::string kernel(const std::string& code, const std::string& declarations = "") {
  return kThreadRegisters + declarations + R"(
define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, i64 %n) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %ctaid, %ntid
  %t = add i32 %first, %tid
)" + code +
         R"(
  ret void
}
)";
}

}  // namespace sim_test
