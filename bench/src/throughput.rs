//! Throughput, latency, processor time and memory under load.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;

use crate::load::Length;
use crate::process::Server;
use crate::statistics::median;
use crate::workload::Workload;

/// Measurements of one server under one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// Median latency in microseconds.
    pub p50: f64,
    /// 99th percentile of the latency in microseconds.
    pub p99: f64,
    /// Processor time of the server per request, in microseconds of user and kernel mode.
    pub cpu: f64,
    /// Peak resident memory of the server in KiB.
    pub memory: f64,
    /// Memory of the server at the end that is in no file, in KiB.
    pub anonymous: f64,
}

impl Sample {
    /// Returns the median of each figure over several rounds.
    #[must_use]
    pub fn median(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(rounds.iter().map(figure));
        Self {
            requests_per_second: of(|sample| sample.requests_per_second),
            p50: of(|sample| sample.p50),
            p99: of(|sample| sample.p99),
            cpu: of(|sample| sample.cpu),
            memory: of(|sample| sample.memory),
            anonymous: of(|sample| sample.anonymous),
        }
    }
}

/// Schedule of the load.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// Time of load before the measurement.
    pub warm_up: Duration,
    /// Time of the measurement.
    pub duration: Duration,
    /// Number of rounds in which the variants take turns; the median is reported.
    pub rounds: usize,
}

impl Schedule {
    /// Loads a fresh process of the server that `command` starts.
    pub async fn sample(&self, command: &[OsString], workload: &Workload) -> Result<Sample> {
        let mut server = Server::start(command, workload).await?;
        server.run(Length::Time(self.warm_up)).await?;
        let cpu_before = server.cpu_time()?;
        let outcome = server.run(Length::Time(self.duration)).await?;
        let cpu = server.cpu_time()?.saturating_sub(cpu_before);
        let memory = server.memory()?;
        server.stop().await?;
        Ok(Sample {
            requests_per_second: outcome.requests_per_second(),
            p50: micros(outcome.latency(50)),
            p99: micros(outcome.latency(99)),
            cpu: micros(cpu) / outcome.requests() as f64,
            memory: memory.peak as f64,
            anonymous: memory.anonymous as f64,
        })
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_its_own_median() {
        let sample = |requests_per_second, p50, p99, cpu, memory| Sample {
            requests_per_second,
            p50,
            p99,
            cpu,
            memory,
            anonymous: memory / 10.0,
        };
        let rounds = [
            sample(100.0, 9.0, 50.0, 4.0, 7000.0),
            sample(300.0, 1.0, 40.0, 6.0, 5000.0),
            sample(200.0, 5.0, 90.0, 5.0, 6000.0),
        ];
        assert_eq!(
            Sample::median(&rounds),
            sample(200.0, 5.0, 50.0, 5.0, 6000.0)
        );
    }
}
