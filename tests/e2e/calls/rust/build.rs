// SPDX-License-Identifier: Apache-2.0
fn main() -> std::io::Result<()> {
    let proto = std::env::var("RAWSTACK_PROTO").expect("RAWSTACK_PROTO names the folder of the contract");
    let files = ["binaries", "common", "symbolizer"].map(|f| format!("{proto}/rawstack/v1/{f}.proto"));
    println!("cargo:rerun-if-env-changed=RAWSTACK_PROTO");
    tonic_build::configure().build_server(false).compile_protos(&files, &[proto])
}
