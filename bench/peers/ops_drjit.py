"""Dr.Jit's LLVM backend, where it has the operators: its arrays are one-dimensional. Functions are frozen, so that a call launches kernels that are there; one for
all sizes. It wants LLVM's shared library (DRJIT_LIBLLVM_PATH)."""
import drjit as dr
import numpy as np
from drjit import llvm


class Ops:
    tanh = staticmethod(dr.tanh)
    exp = staticmethod(dr.exp)
    relu = staticmethod(lambda x: dr.maximum(x, 0))
    sqrt = staticmethod(dr.sqrt)
    abs = staticmethod(dr.abs)
    round = staticmethod(dr.round)
    gelu = staticmethod(lambda x: 0.5 * x * (1 + dr.erf(x * 0.5**0.5)))
    sigmoid = staticmethod(lambda x: dr.rcp(1 + dr.exp(-x)))
    silu = staticmethod(lambda x: x * dr.rcp(1 + dr.exp(-x)))


class Peer:
    def __init__(self, threads):
        dr.set_thread_count(threads)
        if not dr.has_backend(dr.JitBackend.LLVM):
            raise ImportError("Dr.Jit finds no LLVM (DRJIT_LIBLLVM_PATH)")
        self.version = dr.__version__

    def stage(self, job, sets, weights):
        if weights or any(v.bfloat16 or v.array.ndim != 1 or v.array.dtype != np.float32 for s in sets for v in s.values()):
            raise NotImplementedError("Dr.Jit has no such arrays")
        sets = [{k: llvm.Float(v.array) for k, v in s.items()} for s in sets]
        dr.eval(sets)
        return job, sets

    def start(self, staged):
        job, sets = staged
        f = dr.freeze(lambda x: job.net(Ops, x, {}, job.point))

        def call(i):
            results = f(sets[i])
            dr.eval(results)
            dr.sync_thread()
            return results

        return call

    @staticmethod
    def arrays(results):
        return [np.array(r) for r in results]
