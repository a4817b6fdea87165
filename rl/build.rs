//! Gives our binaries and tests an rpath to libtorch, so that nothing needs `LD_LIBRARY_PATH`.
//!
//! `torch-sys` has already found the library (see `.cargo/config.toml`) and passes the folder on.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    let Ok(folder) = std::env::var("DEP_TCH_LIBTORCH_LIB") else {
        println!("cargo::error=torch-sys did not say where libtorch is; run `make venv` first");
        return;
    };
    println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    println!("cargo::rustc-env=RL_LIBTORCH_LIB={folder}");
}
