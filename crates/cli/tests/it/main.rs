//! The binary as its users meet it.

#![cfg(test)]

#[cfg(unix)]
mod auth;
#[cfg(unix)]
mod browse;
#[cfg(unix)]
mod call;
#[cfg(target_os = "linux")]
mod canary;
#[cfg(target_os = "linux")]
mod client_machine;
#[cfg(unix)]
mod clients;
#[cfg(target_os = "linux")]
mod commands;
#[cfg(unix)]
mod config;
#[cfg(unix)]
mod debug;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod elicitation;
#[cfg(unix)]
mod fixture;
#[cfg(unix)]
mod hostile;
#[cfg(target_os = "linux")]
mod hub;
#[cfg(unix)]
mod issuer;
#[cfg(target_os = "linux")]
mod keychain;
#[cfg(unix)]
mod mistakes;
#[cfg(unix)]
mod network;
#[cfg(unix)]
mod profile;
#[cfg(unix)]
mod provider;
#[cfg(unix)]
mod raw;
#[cfg(unix)]
mod relay;
#[cfg(unix)]
mod relay_notifications;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod serve_issuer;
#[cfg(target_os = "linux")]
mod service;
#[cfg(target_os = "linux")]
mod setup;
#[cfg(unix)]
mod shells;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod token;
