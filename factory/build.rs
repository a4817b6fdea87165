//! Embeds the hand-written seeds, scenarios and phrases of pages, so that the binary works from any
//! folder.

use fs_err as fs;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut code = String::new();
    embed(&mut code, "MLEBENCH", &root.join("../seeds/mlebench"))?;
    embed(&mut code, "SCENARIOS", &root.join("scenarios"))?;
    embed(&mut code, "PAGES", &root.join("pages"))?;
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("embedded.rs"), code)
}

/// Writes `const NAME: [(file name, contents); n]` for the TOML files of a folder, sorted.
fn embed(code: &mut String, name: &str, folder: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let _ = writeln!(code, "pub(crate) const {name}: [(&str, &str); {}] = [", files.len());
    for path in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let path = path.canonicalize()?.to_string_lossy().into_owned();
        let _ = writeln!(code, "    ({:?}, include_str!({path:?})),", file.unwrap_or_default());
    }
    code.push_str("];\n");
    Ok(())
}
