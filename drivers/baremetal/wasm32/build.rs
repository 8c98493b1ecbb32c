//! What the runner looks at besides the exported function.

fn main() {
    // Bytes of the stack: where the runner measures how deep it was.
    println!("cargo::rustc-link-arg-cdylib=-zstack-size=196608");
    for name in ["__stack_pointer", "__data_end", "__heap_base"] {
        println!("cargo::rustc-link-arg-cdylib=--export={name}");
    }
}
