//! NVRTC, NVIDIA's compiler of CUDA as a library.

#![allow(unsafe_code)] // a library of C

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use libloading::Library;

type Program = *mut c_void;

/// The library.
pub struct Nvrtc {
    library: Library,
}

impl Nvrtc {
    /// Loads it.
    ///
    /// # Errors
    /// A file that is no library.
    pub fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: the library does nothing when it is loaded.
        let library = unsafe { Library::new(path) }.map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { library })
    }

    /// The PTX of a source for an architecture, with fast mathematics: the precision of division and roots
    /// that Vulkan requires is nearest to that.
    ///
    /// # Errors
    /// What the compiler says of a source that it refuses.
    pub fn ptx(&self, source: &str, architecture: &str) -> Result<Vec<u8>, String> {
        let options = [&*format!("--gpu-architecture=compute_{architecture}"), "--use_fast_math", "-default-device"];
        let c = |text: &str| CString::new(text).map_err(|e| e.to_string());
        let (source, name) = (c(source)?, c("kernel.cu")?);
        let options = options.map(c).into_iter().collect::<Result<Vec<_>, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the types are those of nvrtc.h; texts live as long as the calls; a text is as long as the
        // library has said, and the program is used between its making and its end.
        unsafe {
            type Create = unsafe extern "C" fn(
                *mut Program,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> c_int;
            type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
            let (create, compile) =
                (self.get::<Create>("nvrtcCreateProgram")?, self.get::<Compile>("nvrtcCompileProgram")?);
            let mut program: Program = null_mut();
            if create(&raw mut program, source.as_ptr(), name.as_ptr(), 0, null(), null()) != 0 {
                return Err("NVRTC makes no program".to_owned());
            }
            let failed = compile(program, options.len() as c_int, options.as_ptr()) != 0;
            let what = if failed { "ProgramLog" } else { "PTX" };
            let told = self.text(program, what);
            let destroy = self.get::<unsafe extern "C" fn(*mut Program) -> c_int>("nvrtcDestroyProgram")?;
            destroy(&raw mut program);
            if failed { Err(String::from_utf8_lossy(&told?).into_owned()) } else { told }
        }
    }

    /// A text of a program, without the zero at its end.
    ///
    /// # Safety
    /// A program that is there.
    unsafe fn text(&self, program: Program, what: &str) -> Result<Vec<u8>, String> {
        // SAFETY: as in `ptx`.
        unsafe {
            let size =
                self.get::<unsafe extern "C" fn(Program, *mut usize) -> c_int>(&format!("nvrtcGet{what}Size"))?;
            let get = self.get::<unsafe extern "C" fn(Program, *mut c_char) -> c_int>(&format!("nvrtcGet{what}"))?;
            let mut bytes = 0;
            if size(program, &raw mut bytes) != 0 {
                return Err(format!("NVRTC has no {what}"));
            }
            let mut text = vec![0_u8; bytes];
            if get(program, text.as_mut_ptr().cast()) != 0 {
                return Err(format!("NVRTC has no {what}"));
            }
            text.retain(|byte| *byte != 0);
            Ok(text)
        }
    }

    /// # Safety
    /// `F` is the type of the function.
    unsafe fn get<F: Copy>(&self, name: &str) -> Result<F, String> {
        // SAFETY: the caller knows the type.
        unsafe { self.library.get::<F>(name.as_bytes()).map(|f| *f).map_err(|e| e.to_string()) }
    }
}
