"""ONNX Runtime and OpenVINO, on the files that ops_onnx.py has written."""
import os


class OrtPeer:
    """ONNX Runtime: all optimizations, threads as many as are measured."""

    def __init__(self, threads):
        import onnxruntime as ort

        self.ort, self.version = ort, ort.__version__
        self.options = ort.SessionOptions()
        self.options.intra_op_num_threads, self.options.inter_op_num_threads = threads, 1
        self.options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.options.log_severity_level = 3

    def stage(self, job, sets, weights):
        return job.model(True), [{k: a.array for k, a in s.items()} for s in sets]

    def start(self, staged):
        model, feeds = staged
        session = self.ort.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])
        return lambda i: session.run(None, feeds[i])

    @staticmethod
    def arrays(results):
        return results


class OpenVinoPeer:
    """OpenVINO with the hint for latency; its kernels choose the precision unless it is told float32."""

    def __init__(self, threads):
        import openvino as ov

        self.ov, self.version = ov, ov.__version__.split("-")[0]
        self.core = ov.Core()
        self.settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
        if os.environ.get("REPRISE_PEERS_CACHE"):
            self.settings["CACHE_DIR"] = os.environ["REPRISE_PEERS_CACHE"]

    def stage(self, job, sets, weights):
        return job.model(False), [{k: a.array for k, a in s.items()} for s in sets]

    def start(self, staged):
        model, feeds = staged
        compiled = self.core.compile_model(model, "CPU", self.settings)
        request = compiled.create_infer_request()
        outputs = range(len(compiled.outputs))

        def call(i):
            results = request.infer(feeds[i], share_inputs=True, share_outputs=True)
            return [results[k] for k in outputs]

        return call

    @staticmethod
    def arrays(results):
        return [r.copy() for r in results]  # the next call writes there
