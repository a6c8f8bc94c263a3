// Runs an exported program from Rust: `rustc -O run.rs -L FOLDER -l reprise-rt && ./run net.rpx 5 8`
//
// The declarations are those of reprise/rt.h; a Program and its Results give back what they hold when they go. Prints
// the first result of a tensor of these sizes, whose element i is (i * 37 % 101) / 101 - 0.5, in hexadecimal bits.
use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int};
use std::ptr::null;

const MAX_DIMS: usize = 8;
const FLOAT32: i32 = 0;
const TENSOR: i32 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
struct Tensor {
    data: *mut c_void,
    dtype: i32,
    ndim: i32,
    sizes: [i64; MAX_DIMS],
    strides: [i64; MAX_DIMS],
}
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: i32,
    integer: i64,
    number: f64,
    tensor: Tensor,
    owner: *mut c_void,
}
extern "C" {
    fn rprt_last_error() -> *const c_char;
    fn rprt_load(path: *const c_char, options: *const c_void, out: *mut *mut c_void) -> c_int;
    fn rprt_unload(program: *mut c_void) -> c_int;
    fn rprt_result_count(program: *mut c_void) -> usize;
    fn rprt_tensor_set(v: *mut Value, data: *mut c_void, dtype: i32, ndim: i32, sizes: *const i64) -> c_int;
    fn rprt_call(p: *mut c_void, arguments: *const Value, n: usize, results: *mut Value, m: usize) -> c_int;
    fn rprt_release(v: *mut Value);
}

fn checked(code: c_int) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(rprt_last_error()) }.to_string_lossy().into_owned())
}

struct Program(*mut c_void);
impl Program {
    fn load(path: &str) -> Result<Program, String> {
        let path = CString::new(path).map_err(|e| e.to_string())?;
        let mut handle = std::ptr::null_mut();
        checked(unsafe { rprt_load(path.as_ptr(), null(), &mut handle) })?;
        Ok(Program(handle))
    }
    /// The results of a call with one tensor.
    fn call(&self, data: &mut [f32], sizes: &[i64]) -> Result<Results, String> {
        assert_eq!(data.len() as i64, sizes.iter().product::<i64>());
        unsafe {
            let mut x: Value = std::mem::zeroed();
            checked(rprt_tensor_set(&mut x, data.as_mut_ptr().cast(), FLOAT32, sizes.len() as i32, sizes.as_ptr()))?;
            let mut made = vec![std::mem::zeroed::<Value>(); rprt_result_count(self.0)];
            checked(rprt_call(self.0, &x, 1, made.as_mut_ptr(), made.len()))?;
            Ok(Results(made))
        }
    }
}
impl Drop for Program {
    fn drop(&mut self) {
        unsafe { rprt_unload(self.0) };
    }
}

struct Results(Vec<Value>);
impl Results {
    /// The elements of a row-major result of floats.
    fn floats(&self, at: usize) -> &[f32] {
        let t = &self.0[at].tensor;
        assert!(self.0[at].kind == TENSOR && t.dtype == FLOAT32);
        let n: i64 = t.sizes[..t.ndim as usize].iter().product();
        unsafe { std::slice::from_raw_parts(t.data as *const f32, n as usize) }
    }
}
impl Drop for Results {
    fn drop(&mut self) {
        for v in &mut self.0 {
            unsafe { rprt_release(v) };
        }
    }
}

fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().collect();
    let path = arguments.get(1).ok_or("usage: run FILE.rpx SIZE...")?;
    let sizes: Vec<i64> = arguments[2..].iter().map(|s| s.parse().map_err(|_| s.clone())).collect::<Result<_, _>>()?;
    let net = Program::load(path)?;
    let mut x: Vec<f32> =
        (0..sizes.iter().product()).map(|i: i64| ((i * 37 % 101) as f64 / 101.0 - 0.5) as f32).collect();
    let results = net.call(&mut x, &sizes)?;
    drop(net); // results outlive the program
    for y in results.floats(0) {
        println!("{:08x}", y.to_bits());
    }
    Ok(())
}

fn main() {
    if let Err(why) = run() {
        eprintln!("run: {}", why);
        std::process::exit(1);
    }
}
