// SPDX-License-Identifier: Apache-2.0
//! frames [--ca FILE] [--token-file FILE] SERVER BUILD_ID ADDRESS...
//! Prints the frames of link-time addresses of a binary, innermost first.
use std::{env, error::Error, fs};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};
use tonic::Request;

mod rawstack {
    tonic::include_proto!("rawstack.v1");
}
use rawstack::symbolizer_client::SymbolizerClient;
use rawstack::{LocationKind, LocationStatus, Locations, Module, StackBatch};

fn hex(text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    if text.len() % 2 != 0 {
        return Err("a build id has two digits for each byte".into());
    }
    let byte = |i| Ok(u8::from_str_radix(text.get(i..i + 2).ok_or("not hex")?, 16)?);
    (0..text.len()).step_by(2).map(byte).collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (mut ca, mut token, mut rest) = (None, None, Vec::new());
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--ca" => ca = Some(fs::read(args.next().ok_or("--ca FILE")?)?),
            "--token-file" => token = Some(fs::read_to_string(args.next().ok_or("--token-file FILE")?)?),
            _ => rest.push(arg),
        }
    }
    let [server, build_id, addresses @ ..] = rest.as_slice() else {
        return Err("usage: frames [--ca FILE] [--token-file FILE] SERVER BUILD_ID ADDRESS...".into());
    };
    let parse = |a: &String| u64::from_str_radix(a.trim_start_matches("0x"), 16);
    let addresses: Vec<u64> = addresses.iter().map(parse).collect::<Result<_, _>>()?;

    let scheme = if ca.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{server}"))?;
    if let Some(ca) = ca {
        endpoint = endpoint.tls_config(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca)))?;
    }
    let bearer: Option<MetadataValue<Ascii>> =
        token.map(|t| format!("Bearer {}", t.trim()).parse()).transpose()?;
    let mut client = SymbolizerClient::with_interceptor(endpoint.connect().await?, move |mut request: Request<()>| {
        if let Some(bearer) = &bearer {
            request.metadata_mut().insert("authorization", bearer.clone());
        }
        Ok(request)
    });

    let reply = client
        .symbolize(StackBatch {
            modules: vec![Module { build_id: hex(build_id)?, ..Default::default() }],
            locations: Some(Locations {
                kind: vec![LocationKind::Vaddr as i32; addresses.len()],
                module: vec![0; addresses.len()],
                address: addresses.clone(),
                ..Default::default()
            }),
            ..Default::default()
        })
        .await?
        .into_inner();

    // The reply is columns: each location has a status and a number of frames, each frame a row of
    // functions and a line, each function the indexes of its strings.
    let functions = reply.functions.clone().unwrap_or_default();
    let text = |string: u32| String::from_utf8_lossy(&reply.strings[string as usize]).into_owned();
    let mut at = 0;
    for (i, address) in addresses.iter().enumerate() {
        let count = reply.frame_count[i] as usize;
        if count == 0 {
            println!("{address:#x} {}", LocationStatus::try_from(reply.status[i])?.as_str_name());
        }
        for n in 0..count {
            let function = reply.frame_function[at] as usize;
            println!(
                "{address:#x} {} {}:{}{}",
                text(functions.name[function]),
                text(functions.file[function]),
                reply.frame_line[at],
                if n + 1 < count { " inlined" } else { "" }
            );
            at += 1;
        }
    }
    Ok(())
}
