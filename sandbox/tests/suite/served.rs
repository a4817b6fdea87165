//! The hostile programs as scripts of a live server's clients, in each tier: none of them is ever
//! reported as a fault of ours, and who plays after them is not disturbed.
//!
//! The server's limits are one for all, so that programs may end otherwise than their headers
//! say; that is for the tests of `hostile`. Those that wait for the clock are left out unless
//! `SERVED=all` is in the environment.

use crate::fixture::{CANARY, SuiteCorpus};
use crate::program::Program;
use crate::tiers::{as_ordinary_user, left_out, tried};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// Ends the server with its test.
struct ServedProcess(Child);

impl Drop for ServedProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Has a server, started by `command`, play all programs. `tier` is what its host then offers.
fn serve(command: &mut Command, tier: &str, mode: &str) {
    let corpus = SuiteCorpus::new();
    let records = corpus.path().join("records");
    for task in ["alpha", "beta"] {
        let page = corpus.path().join(task).join("prepared/public/description.md");
        fs_err::write(page, "odd or even?").unwrap();
    }
    let mut child = command
        .arg(env!("CARGO_BIN_EXE_sandbox"))
        .args(["serve", corpus.path().as_str(), "--listen", "127.0.0.1:0", "--mode", mode])
        .args(["--records", records.as_str(), "--allow-tier", tier, "--turns", "50"])
        .args(["--step-limit", "5s", "--answer-limit", "55s", "--memory", "300MiB"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let server = ServedProcess(child);
    if line.is_empty() {
        return left_out(&format!("a live server in {tier}"), "it does not start on this host");
    }
    let address = line.trim().rsplit_once("http://").unwrap().1.to_owned();
    let fill_in = |code: &str| {
        code.replace("@CORPUS@", corpus.path().as_str())
            .replace("@CANARY@", &CANARY.chars().rev().collect::<String>())
            .replace("@PORT@", address.rsplit_once(':').unwrap().1)
            .replace("@LISTENER@", "nobody-listens-here")
            .replace("@SUPERVISOR@", &server.0.id().to_string())
            .replace("@TIER@", tier)
            .replace("@MODE@", mode)
    };
    let all = std::env::var("SERVED").is_ok_and(|served| served == "all");
    let programs: Vec<Program> =
        Program::all().into_iter().filter(|program| all || program.is_brief()).collect();
    let list: Vec<_> = programs
        .iter()
        .map(|program| {
            let episodes: Vec<Vec<String>> = program
                .episodes(mode == "session")
                .into_iter()
                .map(|scripts| scripts.into_iter().map(fill_in).collect())
                .collect();
            serde_json::json!({"name": program.name, "episodes": episodes})
        })
        .collect();
    let file = corpus.path().join("programs.json");
    fs_err::write(&file, serde_json::to_vec(&list).unwrap()).unwrap();
    let python = jail::python::PythonEnv::locate().unwrap();
    let client = Command::new(python.interpreter())
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/served.py"))
        .args([address.as_str(), file.as_str()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&client.stdout);
    assert!(client.status.success(), "{said}{}", String::from_utf8_lossy(&client.stderr));
    let problems: Vec<String> = serde_json::from_str(said.trim()).unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    tried(&format!("{} hostile programs through a live server in {tier}, mode {mode}", list.len()));
}

#[test]
fn a_live_server_in_tier_1_is_not_disturbed() {
    serve(&mut Command::new("env"), "t1", "script");
}

#[test]
fn a_live_server_in_tier_1_is_not_disturbed_by_sessions() {
    serve(&mut Command::new("env"), "t1", "session");
}

#[test]
fn a_live_server_in_tier_2_is_not_disturbed() {
    if rustix::process::geteuid().is_root() {
        return as_ordinary_user("served::a_live_server_in_tier_2_is_not_disturbed");
    }
    serve(&mut Command::new("env"), "t2", "script");
}

#[test]
fn a_live_server_in_tier_3_is_not_disturbed() {
    // On a host that forbids further user namespaces.
    let barred = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    serve(command.args(["-Ur", "sh", "-c", barred]), "t3", "script");
}
