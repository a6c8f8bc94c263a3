"""Runs exported programs (docs/runtime.md) over ctypes: one file, no packages.

    import reprise_rt
    net = reprise_rt.load("net.rpx")
    y = net(x)                  # x: whatever has the buffer protocol or DLPack (numpy, array.array, torch), or a Tensor
    y.memoryview()[0, 3]        # results have both: numpy.asarray(y) and torch.from_dlpack(y) copy nothing

The library is the one that was installed with this file, libreprise-rt.so.0 otherwise, or what RPRT_LIBRARY names.
"""
import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p

__all__ = ["Error", "Program", "Tensor", "from_dlpack", "load", "seed", "set_threads", "tensor", "threads"]
__version__ = "0.0.0"  # of the library, where a wheel has set it

MAX_DIMS = 8
NONE, TENSOR, INTEGER, NUMBER = range(4)
DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool", "float8_e4m3fn",
          "float8_e5m2")
SIZES = (4, 8, 2, 2, 1, 1, 4, 8, 1, 1, 1)
# By the format of a buffer. What has no format there (bfloat16, float8) goes as bytes: tensor(data, dtype, sizes).
FORMATS = {"f": 0, "d": 1, "e": 2, "b": 4, "B": 5, "i": 6, "q": 7, "?": 8}
if ctypes.sizeof(ctypes.c_long) == 8:
    FORMATS["l"] = 7
LETTERS = {0: "f", 1: "d", 2: "e", 4: "b", 5: "B", 6: "i", 7: "q", 8: "?"}


class _Tensor(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("ndim", c_int32), ("sizes", c_int64 * MAX_DIMS),
                ("strides", c_int64 * MAX_DIMS)]


class _Value(Structure):
    _fields_ = [("kind", c_int32), ("integer", c_int64), ("number", c_double), ("tensor", _Tensor), ("owner", c_void_p)]


class _Options(Structure):
    _fields_ = [("level", c_char_p), ("copy_weights", c_int32)]


class _Info(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int32), ("dtype", c_int32), ("ndim", c_int32), ("written", c_int32)]


class _Buffer(Structure):  # Py_buffer
    _fields_ = [("buf", c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", c_char_p), ("shape", POINTER(ctypes.c_ssize_t)), ("strides", POINTER(ctypes.c_ssize_t)),
                ("suboffsets", c_void_p), ("internal", c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, POINTER(_Buffer), ctypes.c_int]
_get_buffer.restype = ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [POINTER(_Buffer)]
_release_buffer.restype = None
_FULL_RO, _WRITABLE = 0x011c, 0x0001  # PyBUF_FULL_RO, PyBUF_WRITABLE


# DLPack: (code, bits) of a dtype; a capsule holds a _Managed, whose deleter gives back what it shows.
DLPACK = {0: (2, 32), 1: (2, 64), 2: (2, 16), 3: (4, 16), 4: (0, 8), 5: (1, 8), 6: (0, 32), 7: (0, 64), 8: (6, 8),
          9: (10, 8), 10: (12, 8)}
_CPU = 1


class _Managed(Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                     ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                     ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
                     ("manager", c_void_p), ("deleter", _Deleter)]
_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
_python.PyCapsule_IsValid.restype = ctypes.c_int
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, c_char_p]
_python.PyCapsule_GetPointer.restype = c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]
_python.PyCapsule_SetName.restype = ctypes.c_int
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, c_char_p]
_FRESH, _USED = c_char_p(b"dltensor"), c_char_p(b"used_dltensor")  # capsules keep these addresses
_given = {}  # what capsules show, by the address of their _Managed


@_Deleter
def _give_back(managed):
    _given.pop(ctypes.addressof(managed.contents), None)


@ctypes.PYFUNCTYPE(None, c_void_p)
def _capsule_ends(capsule):
    """One that nobody has taken gives its tensor back. (It is about to be freed: no reference to it may be made.)"""
    valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _python))
    pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _python))
    if valid(capsule, _FRESH):
        _given.pop(pointer(capsule, _FRESH), None)


class Error(RuntimeError):
    """A call that failed. `code`: the number of reprise/rt.h."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def _open():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reprise_rt.libs", "libreprise-rt.so.0")
    name = os.environ.get("RPRT_LIBRARY") or (beside if os.path.exists(beside) else "libreprise-rt.so.0")
    lib = ctypes.CDLL(name)
    p, text = c_void_p, c_char_p
    for name, result, *arguments in (
        ("version", c_int32), ("last_error", text), ("load", c_int32, text, POINTER(_Options), POINTER(p)),
        ("unload", c_int32, p), ("name", text, p), ("level", text, p), ("signature", text, p),
        ("argument_count", c_size_t, p), ("argument", c_int32, p, c_size_t, POINTER(_Info)),
        ("result_count", c_size_t, p), ("result", c_int32, p, c_size_t, POINTER(_Info)),
        ("guard_count", c_size_t, p), ("guard", text, p, c_size_t), ("weight_count", c_size_t, p),
        ("weight", c_int32, p, c_size_t, POINTER(_Info)), ("weight_tensor", c_int32, p, c_size_t, POINTER(_Tensor)),
        ("bind", c_int32, p, text, POINTER(_Tensor)),
        ("call", c_int32, p, POINTER(_Value), c_size_t, POINTER(_Value), c_size_t), ("release", None, POINTER(_Value)),
        ("set_threads", c_int32, c_int32), ("threads", c_int32), ("seed", None, c_uint64)):
        function = getattr(lib, "rprt_" + name)
        function.restype, function.argtypes = result, arguments
    if lib.rprt_version() < 1:
        raise ImportError("libreprise-rt is older than this module")
    return lib


_lib = _open()


def _check(code):
    if code:
        raise Error(code, _lib.rprt_last_error().decode(errors="replace"))


def set_threads(n):
    """Threads of all programs; 0: what the machine has for it."""
    _check(_lib.rprt_set_threads(n))


def threads():
    return _lib.rprt_threads()


def seed(n):
    """Where programs that draw random numbers begin."""
    _lib.rprt_seed(n)


class Tensor:
    """Memory with a dtype, sizes and strides (in elements). Has the buffer protocol where its dtype has a format."""

    def __init__(self, value, keeps):
        self._value, self._keeps = value, keeps

    @property
    def dtype(self):
        return DTYPES[self._value.tensor.dtype]

    @property
    def shape(self):
        return tuple(self._value.tensor.sizes[:self._value.tensor.ndim])

    @property
    def strides(self):
        return tuple(self._value.tensor.strides[:self._value.tensor.ndim])

    def __del__(self):
        if self._value.owner:
            _lib.rprt_release(byref(self._value))

    def _memory(self):
        """The bytes from the first element to behind the last one, and an object that keeps them alive."""
        t = self._value.tensor
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        size = (last + 1) * SIZES[t.dtype] if all(self.shape) else 0
        memory = (c_char * size).from_address(t.data or 0) if size else (c_char * 0)()
        memory._tensor = self
        return memory

    def bytes(self):
        """The elements in row-major order."""
        item, raw = SIZES[self._value.tensor.dtype], bytes(self._memory())
        if self._row_major():
            return raw
        out = [b""]

        def walk(d, at):
            if d == len(self.shape):
                out.append(raw[at * item:(at + 1) * item])
                return
            for i in range(self.shape[d]):
                walk(d + 1, at + i * self.strides[d])

        if all(self.shape):
            walk(0, 0)
        return b"".join(out)

    def _row_major(self):
        step = 1
        for n, s in zip(reversed(self.shape), reversed(self.strides)):
            if n != 1 and s != step:
                return False
            step *= n
        return True

    def __dlpack_device__(self):
        return (_CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None or (dl_device is not None and tuple(dl_device) != (_CPU, 0)):
            raise BufferError("the tensor is in memory of the host")
        if copy:
            raise BufferError("a tensor is given as it is: copy what was made of it")
        t, n = self._value.tensor, self._value.tensor.ndim
        shape, strides = (c_int64 * max(n, 1))(*self.shape), (c_int64 * max(n, 1))(*self.strides)
        code, bits = DLPACK[t.dtype]
        managed = _Managed(data=t.data, device_type=_CPU, ndim=n, code=code, bits=bits, lanes=1, shape=shape,
                           strides=strides, deleter=_give_back)
        at = ctypes.addressof(managed)
        _given[at] = (managed, shape, strides, self)
        return _python.PyCapsule_New(at, _FRESH, ctypes.cast(_capsule_ends, c_void_p))

    def __array__(self, dtype=None, copy=None):
        import numpy
        t = self._value.tensor
        if t.dtype not in LETTERS:
            raise TypeError("numpy has no " + self.dtype)
        made = numpy.ndarray(self.shape, LETTERS[t.dtype], self._memory(),
                             strides=[s * SIZES[t.dtype] for s in self.strides])
        return made if dtype is None else made.astype(dtype)

    def memoryview(self):
        """A view of row-major elements, which shares the memory."""
        t = self._value.tensor
        if t.dtype not in LETTERS or not self._row_major():
            raise TypeError("no view of a " + self.dtype + " with strides " + str(self.strides) + ": take bytes()")
        flat = memoryview(self._memory()).cast("B")
        return flat.cast(LETTERS[t.dtype], self.shape) if all(self.shape) else flat.cast(LETTERS[t.dtype])

    def tolist(self):
        t = self._value.tensor
        if t.dtype not in LETTERS:
            raise TypeError("no numbers of " + self.dtype + ": take bytes()")
        flat = memoryview(self.bytes()).cast(LETTERS[t.dtype])
        if not self.shape:
            return flat[0]
        return flat.cast("B").cast(LETTERS[t.dtype], self.shape).tolist() if all(self.shape) else []


def from_dlpack(data):
    """A Tensor over the memory of an object with __dlpack__ (of torch, jax, numpy, ...)."""
    kind, _ = data.__dlpack_device__()
    if kind != _CPU:
        raise BufferError("a tensor of a device of kind %d: move it to the host" % kind)
    capsule = data.__dlpack__()
    if not _python.PyCapsule_IsValid(capsule, _FRESH):
        raise BufferError("the capsule has been taken, or is of a newer DLPack")
    managed = ctypes.cast(_python.PyCapsule_GetPointer(capsule, _FRESH), POINTER(_Managed))
    m = managed.contents
    number = next((d for d, of in DLPACK.items() if of == (m.code, m.bits)), None)
    if number is None or m.lanes != 1:
        raise TypeError("no dtype has code %d, %d bits and %d lanes" % (m.code, m.bits, m.lanes))
    if m.ndim > MAX_DIMS:
        raise ValueError("%d dimensions; %d are the most" % (m.ndim, MAX_DIMS))
    value = _Value(kind=TENSOR)
    t = value.tensor
    t.data, t.dtype, t.ndim = (m.data or 0) + m.byte_offset, number, m.ndim
    step = 1
    for d in reversed(range(m.ndim)):
        t.sizes[d], t.strides[d] = m.shape[d], m.strides[d] if m.strides else step
        step *= max(m.shape[d], 1)
        if t.strides[d] < 0:
            raise ValueError("negative strides")
    _python.PyCapsule_SetName(capsule, _USED)  # it is ours from here on
    return Tensor(value, _Taken(managed))


class _Taken:
    """Holds what a capsule held."""

    def __init__(self, managed):
        self.managed = managed

    def __del__(self):
        if self.managed.contents.deleter:
            self.managed.contents.deleter(self.managed)


def tensor(data, dtype=None, shape=None):
    """A Tensor over an object's memory. `dtype` and `shape`: of one whose format does not say them."""
    if isinstance(data, Tensor):
        return data
    if dtype is None and shape is None and hasattr(data, "__dlpack__") and not hasattr(data, "__buffer__"):
        try:
            memoryview(data).release()
        except (TypeError, BufferError):  # torch's, say
            return from_dlpack(data)
    view = _Buffer()
    try:
        _get_buffer(data, byref(view), _FULL_RO | _WRITABLE)
    except (BufferError, TypeError):
        view = _Buffer()
        _get_buffer(data, byref(view), _FULL_RO)
    keeps = _Held(view, data)
    letter = (view.format or b"B").decode().lstrip("@=<")
    number = FORMATS.get(letter) if dtype is None else DTYPES.index(dtype)
    if number is None:
        raise TypeError("a buffer of format '" + letter + "' has no dtype")
    item = SIZES[number]
    value = _Value(kind=TENSOR)
    if shape is None and view.itemsize == item:
        value.tensor.ndim = view.ndim
        sizes = [view.shape[d] for d in range(view.ndim)] if view.shape else [view.len // item]
        steps = [view.strides[d] for d in range(view.ndim)] if view.strides else None
    else:
        sizes, steps = list(shape if shape is not None else [view.len // item]), None
        total = item
        for n in sizes:
            total *= n
        if total != view.len:
            raise ValueError("a buffer of %d bytes is no %s of %s" % (view.len, DTYPES[number], sizes))
    if len(sizes) > MAX_DIMS:
        raise ValueError("%d dimensions; %d are the most" % (len(sizes), MAX_DIMS))
    if steps is None:
        steps, step = [0] * len(sizes), item
        for d in reversed(range(len(sizes))):
            steps[d], step = step, step * max(sizes[d], 1)
    value.tensor.data, value.tensor.dtype, value.tensor.ndim = view.buf, number, len(sizes)
    for d, (n, s) in enumerate(zip(sizes, steps)):
        if s % item or s < 0:
            raise ValueError("strides that are no whole elements, or negative")
        value.tensor.sizes[d], value.tensor.strides[d] = n, s // item
    made = Tensor(value, keeps)
    made.readonly = bool(view.readonly)
    return made


class _Held:
    """Holds a buffer."""

    def __init__(self, view, of):
        self.view, self.of = view, of

    def __del__(self):
        _release_buffer(byref(self.view))


class Program:
    """A loaded program. Calls may come from any thread; ctypes lets others run meanwhile."""

    def __init__(self, path, level=None, copy_weights=False):
        self._handle = c_void_p()
        options = _Options(level.encode() if level else None, int(copy_weights))
        _check(_lib.rprt_load(os.fsencode(path), byref(options), byref(self._handle)))
        self._arguments = self._infos("argument")
        self._results = self._infos("result")
        self._weights = {i["name"]: n for n, i in enumerate(self._infos("weight"))}

    def _infos(self, what):
        infos = []
        for i in range(getattr(_lib, "rprt_%s_count" % what)(self._handle)):
            info = _Info()
            _check(getattr(_lib, "rprt_" + what)(self._handle, i, byref(info)))
            infos.append({"name": info.name.decode(), "kind": info.kind, "written": bool(info.written),
                          "dtype": DTYPES[info.dtype] if info.dtype >= 0 else None, "ndim": info.ndim})
        return infos

    name = property(lambda self: _lib.rprt_name(self._handle).decode())
    level = property(lambda self: _lib.rprt_level(self._handle).decode())
    signature = property(lambda self: _lib.rprt_signature(self._handle).decode())
    arguments = property(lambda self: [dict(i) for i in self._arguments])
    results = property(lambda self: [dict(i) for i in self._results])

    @property
    def guards(self):
        return [_lib.rprt_guard(self._handle, i).decode() for i in range(_lib.rprt_guard_count(self._handle))]

    @property
    def weights(self):
        """By name, over the program's own memory."""
        made = {}
        for name, i in self._weights.items():
            value = _Value(kind=TENSOR)
            _check(_lib.rprt_weight_tensor(self._handle, i, byref(value.tensor)))
            made[name] = Tensor(value, self)
        return made

    def bind(self, name, data):
        """Another tensor takes the place of a weight."""
        t = tensor(data)
        _check(_lib.rprt_bind(self._handle, name.encode(), byref(t._value.tensor)))
        self._bound = getattr(self, "_bound", []) + [t]

    def __call__(self, *arguments):
        """One result, or a list of them."""
        given = (_Value * max(len(arguments), 1))()
        keeps = []
        for i, a in enumerate(arguments):
            if isinstance(a, int):
                given[i].kind, given[i].integer = INTEGER, a
            elif isinstance(a, float):
                given[i].kind, given[i].number = NUMBER, a
            else:
                t = tensor(a)
                if i < len(self._arguments) and self._arguments[i]["written"] and getattr(t, "readonly", False):
                    raise ValueError(self._arguments[i]["name"] + " is written, and the buffer is read-only")
                given[i] = t._value
                given[i].owner = None
                keeps.append(t)
        made = (_Value * max(len(self._results), 1))()
        _check(_lib.rprt_call(self._handle, given, len(arguments), made, len(self._results)))
        results = []
        for value in made[:len(self._results)]:
            results.append({TENSOR: lambda v: Tensor(v, (self, keeps)), INTEGER: lambda v: v.integer,
                            NUMBER: lambda v: v.number}.get(value.kind, lambda v: None)(_copy(value)))
        return results[0] if len(results) == 1 else results

    def close(self):
        if self._handle:
            _lib.rprt_unload(self._handle)
            self._handle = c_void_p()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _copy(value):
    made = _Value()
    ctypes.memmove(byref(made), byref(value), ctypes.sizeof(_Value))
    return made


load = Program
