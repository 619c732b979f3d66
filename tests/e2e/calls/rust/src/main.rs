// SPDX-License-Identifier: Apache-2.0
//! calls tonic SERVER opens|large|busy
//! tells what tonic sees of calls that open, and of calls that are refused.
use std::{env, error::Error, future::pending, process};
use tokio::sync::mpsc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

mod rawstack {
    tonic::include_proto!("rawstack.v1");
}
use rawstack::binaries_client::BinariesClient;
use rawstack::symbolizer_client::SymbolizerClient;
use rawstack::{StackBatch, WatchRequest};

fn ids(count: u64) -> WatchRequest {
    WatchRequest { build_ids: (0..count).map(|n| n.to_be_bytes().to_vec()).collect() }
}

/// A stream of requests of which none comes.
struct Nothing;

impl tonic::codegen::tokio_stream::Stream for Nothing {
    type Item = StackBatch;
    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<StackBatch>> {
        std::task::Poll::Pending
    }
}

/// Watches of the largest size, until one is refused.
async fn refused_watch(channel: Channel) -> Status {
    let (ends, mut first) = mpsc::channel(1);
    for _ in 0..64 {
        let (ends, mut client) = (ends.clone(), BinariesClient::new(channel.clone()));
        tokio::spawn(async move {
            let end = match client.watch(ids(8192)).await {
                Ok(watch) => watch.into_inner().message().await.err(),
                Err(status) => Some(status),
            };
            match end {
                Some(status) => ends.send(status).await.ok(),
                None => pending().await,
            }
        });
    }
    first.recv().await.expect("no watch was refused")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [_, server, what] = args.as_slice() else {
        return Err("usage: calls tonic SERVER opens|large|busy".into());
    };
    let channel = Endpoint::from_shared(format!("http://{server}"))?.connect().await?;
    let mut symbolizer = SymbolizerClient::new(channel.clone());
    let refused = match what.as_str() {
        "opens" => {
            // These return once the server has answered.
            let watch = BinariesClient::new(channel).watch(ids(1)).await?;
            println!("Watch opens");
            symbolizer.symbolize_stream(Request::new(Nothing)).await?;
            println!("SymbolizeStream opens");
            drop(watch);
            return Ok(());
        }
        "large" => {
            let batch = StackBatch { strings: vec![vec![0; 5 << 20]], ..Default::default() };
            symbolizer.symbolize(batch).await.expect_err("it was too large")
        }
        _ => refused_watch(channel).await,
    };
    let after = refused.metadata().get("grpc-retry-pushback-ms").map(|ms| ms.to_str()).transpose()?;
    println!("{:?} {}", refused.code(), after.unwrap_or("0"));
    process::exit(0)
}
