//! Flags over a policy file over defaults: in what is printed, and in what a script finds.

use crate::fixture::{TaskFolder, json, text};

const LOOK: &str = r"
import os, resource
work, tmp = os.statvfs('.'), os.statvfs('/tmp')
print(work.f_blocks * work.f_frsize, work.f_files, tmp.f_blocks * tmp.f_frsize,
      resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_FSIZE)[0])
print('x' * 100)
";

#[test]
fn limits_of_every_source_apply_to_the_script() {
    let folder = TaskFolder::new();
    let policy = folder.write(
        "policy.toml",
        "time_limit = '20s'\nopen_files = 99\nscratch = '1MiB'\nfile_size = '2MiB'\n\
         work_dir = '3MiB'\nwork_files = 100\n[stdout]\nhead = '64'\ntail = '0'\n",
    );
    let flags = ["--policy", &policy, "--scratch", "8MiB", "--work-files", "200", "--json"];
    let output = folder.run(LOOK, &flags);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    for (limit, value) in
        [("time_limit", "20s"), ("memory", "2GiB"), ("scratch", "8MiB"), ("file_size", "2MiB")]
    {
        assert_eq!(report["policy"][limit], value);
    }
    assert_eq!(report["policy"]["open_files"], 99);
    assert_eq!(report["policy"]["stdout"]["head"], "64");
    if report["run"]["tier"] == "t3" {
        return eprintln!("without a box, sizes are counted and not mounted");
    }
    let said = report["run"]["stdout"].as_str().unwrap();
    assert!(said.starts_with("3145728 200 8388608 99 2097152\n"), "{said}");
    assert!(said.contains("bytes omitted"), "{said}");

    // What was printed is a policy, too.
    let again = folder.write("again.json", &report["policy"].to_string());
    let output = folder.run("pass", &["--policy", &again, "--json"]);
    assert_eq!(json(&output)["policy"], report["policy"], "{}", text(&output.stderr));
}

#[test]
fn the_smallest_limits_let_an_empty_script_run() {
    let folder = TaskFolder::new();
    let flags = [
        "--memory",
        "1MiB",
        "--processes",
        "1",
        "--open-files",
        "64",
        "--file-size",
        "1KiB",
        "--scratch",
        "4KiB",
        "--keep-head",
        "0",
        "--keep-tail",
        "0",
        "--output-limit",
        "1KiB",
        "--work-dir",
        "4KiB",
        "--work-files",
        "16",
    ];
    let output = folder.run("pass", &flags);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn a_wrong_policy_is_refused_with_file_line_and_key() {
    let folder = TaskFolder::new();
    let policy = folder.write("policy.toml", "memory = '1GiB'\n\nscratch = '0'\n");
    let output = folder.run("pass", &["--policy", &policy]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("policy.toml:3: `scratch` is 0; it must be 4KiB to"), "{said}");
}
