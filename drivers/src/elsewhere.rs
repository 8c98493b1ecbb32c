//! What stands for the servers where the system is not Linux: the first names of their drivers, and an error
//! that says what is missing. They rest on pidfds, `/proc`, cgroups and the parent-death signal.

macro_rules! servers {
    ($module:ident, $feature:literal $(, $asynchronous:ident)?) => {
        #[cfg(feature = $feature)]
        pub(crate) mod $module {
            use std::io;
            use std::path::PathBuf;

            /// A llama-server that is started and watched: on Linux alone, so that there is none here.
            #[derive(Debug)]
            pub enum Server {}

            /// A description of a server that cannot be started on this system.
            #[derive(Debug)]
            pub struct Builder {
                model: PathBuf,
            }

            impl Server {
                /// Describes a server of this model.
                pub fn builder(model: impl Into<PathBuf>) -> Builder {
                    Builder { model: model.into() }
                }
            }

            impl Builder {
                /// Would start the process.
                ///
                /// # Errors
                /// Always, of the kind [`Unsupported`](io::ErrorKind::Unsupported).
                pub $($asynchronous)? fn start(self) -> io::Result<Server> {
                    let model = crate::error::printable(self.model.as_os_str().as_encoded_bytes());
                    let text = format!("a server of {model} can be started on Linux alone");
                    Err(io::Error::new(io::ErrorKind::Unsupported, text))
                }
            }
        }
    };
}

servers!(blocking, "blocking");
servers!(tokio, "tokio", async);
