//! The classes of ends, with their texts.

use core::fmt;

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $name:literal, $permanent:literal, $text:literal, $advice:literal;)+) => {
        /// What an end means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Class {
            $($(#[$doc])* $class,)+
        }

        impl Class {
            /// All of them.
            pub const ALL: &[Class] = &[$(Class::$class),+];

            /// A stable name, as `bind_conflict`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Class::$class => $name,)+
                }
            }

            /// The same start would end the same way: it is not retried.
            pub const fn is_permanent(self) -> bool {
                match self {
                    $(Class::$class => $permanent,)+
                }
            }

            /// What to do about it; empty where there is nothing to do.
            pub const fn advice(self) -> &'static str {
                match self {
                    $(Class::$class => $advice,)+
                }
            }

            const fn text(self) -> &'static str {
                match self {
                    $(Class::$class => $text,)+
                }
            }
        }
    };
}

classes! {
    /// It ended in order, as asked.
    StoppedClean = "stopped_clean", false, "it stopped as asked", "";
    /// It did not end in time after SIGTERM, or was to be killed.
    KilledByUs = "killed_by_us", false, "it did not stop in time and was killed", "";
    /// Status 0, and nobody had asked it to end.
    ExitedUnasked = "exited_unasked", false, "it ended without being asked to",
        "see its last lines; another program may have stopped it";
    /// The socket's address is taken.
    BindConflict = "bind_conflict", false, "its address is taken by another program",
        "choose another port, or a unix socket";
    /// The model's file is not there or cannot be read.
    ModelMissing = "model_missing", true, "the model's file cannot be opened",
        "check the path and its permissions";
    /// The model's file is cut or damaged.
    ModelBroken = "model_broken", true, "the model cannot be loaded: its file is incomplete or damaged",
        "check it with `rocload gguf verify`, or fetch it again";
    /// The model is of a kind that this build does not know.
    ModelUnsupported = "model_unsupported", true, "this build of llama-server does not know the model's architecture",
        "use a newer llama-server";
    /// A flag is unknown or has a wrong value.
    BadFlag = "bad_flag", true, "it does not accept one of its flags",
        "remove the flag, or use a llama-server that has it";
    /// Memory of the machine or of a device could not be had.
    OutOfMemory = "out_of_memory", true, "there is not enough memory for the model",
        "use a smaller context, fewer layers on the gpu or a smaller model; `rocload gguf fit` tells what fits";
    /// The kernel killed it for memory.
    OomKilled = "oom_killed", false, "the kernel killed it for memory",
        "use a smaller model or context, or raise the memory limit";
    /// SIGKILL from someone else.
    Killed = "killed", false, "another program killed it", "see who sent it SIGKILL; `dmesg` tells whether it was the kernel";
    /// SIGTERM, SIGINT or SIGHUP from someone else.
    Terminated = "terminated", false, "another program ended it", "see who sent it the signal";
    /// An instruction that this processor does not have.
    WrongCpuBuild = "wrong_cpu_build", true, "it was built for another processor",
        "use a llama-server built for this one: `rocload server install --build` makes one";
    /// Kernels for another GPU.
    WrongGpuBuild = "wrong_gpu_build", true, "it has no kernels for this gpu",
        "use a llama-server built for this gpu's architecture";
    /// The GPU or its driver failed.
    GpuFault = "gpu_fault", false, "the gpu failed", "see its last lines and `dmesg`";
    /// A check of its own failed.
    Assertion = "assertion", false, "an assertion of its own failed", "this is a defect of the server: see its last lines";
    /// A signal that a defect causes.
    Crash = "crash", false, "it crashed", "this is a defect of the server: see its last lines";
    /// A shell or loader between could not start it.
    NotRunnable = "not_runnable", true, "the program cannot be run", "check that it is a llama-server for this machine";
    /// Any other end.
    Failed = "failed", false, "it ended with an error", "see its last lines";
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why a process could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpawnFault {
    /// The program is not there (ENOENT).
    NotFound,
    /// The program is there, and what it needs to be run is not (ENOENT too): the interpreter of
    /// a script, or the loader of a program. The driver tells it from [`NotFound`](Self::NotFound).
    NoInterpreter,
    /// It may not be run (EACCES, EPERM).
    Denied,
    /// It is no program for this machine (ENOEXEC).
    NotExecutable,
    /// Its file is being written (ETXTBSY): it is tried again.
    Busy,
    /// The machine has no more processes, descriptors or memory (EAGAIN, EMFILE, ENOMEM).
    Resources,
    /// Anything else.
    Other,
}

impl SpawnFault {
    /// By the number that Linux gives.
    pub const fn from_errno(errno: i32) -> SpawnFault {
        match errno {
            2 | 20 => SpawnFault::NotFound,
            1 | 13 => SpawnFault::Denied,
            8 => SpawnFault::NotExecutable,
            26 => SpawnFault::Busy,
            11 | 12 | 23 | 24 => SpawnFault::Resources,
            _ => SpawnFault::Other,
        }
    }

    /// A stable name, as `not_found`.
    pub const fn name(self) -> &'static str {
        match self {
            SpawnFault::NotFound => "not_found",
            SpawnFault::NoInterpreter => "no_interpreter",
            SpawnFault::Denied => "denied",
            SpawnFault::NotExecutable => "not_executable",
            SpawnFault::Busy => "busy",
            SpawnFault::Resources => "resources",
            SpawnFault::Other => "other",
        }
    }

    /// What to do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            SpawnFault::NotFound => "check the path of llama-server",
            SpawnFault::NoInterpreter => {
                "install the interpreter that its first line names, or use another llama-server"
            }
            SpawnFault::Denied => "make it executable, and check that its file system allows that",
            SpawnFault::NotExecutable => "use a llama-server for this machine",
            SpawnFault::Busy => "wait until its file is written",
            SpawnFault::Resources => "end other programs, or raise the limits of this user",
            SpawnFault::Other => "",
        }
    }
}

impl fmt::Display for SpawnFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpawnFault::NotFound => "the program is not there",
            SpawnFault::NoInterpreter => "the interpreter or loader of the program is not there",
            SpawnFault::Denied => "the program may not be run",
            SpawnFault::NotExecutable => "the file is no program for this machine",
            SpawnFault::Busy => "the program's file is being written",
            SpawnFault::Resources => "the machine has no more processes or memory",
            SpawnFault::Other => "the system refused to start the program",
        })
    }
}
