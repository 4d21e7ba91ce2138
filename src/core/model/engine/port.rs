//! On which port a database accepts clients.

use super::profile::Profile;
use super::{ClientPort, asks_elsewhere};
use crate::api::DatabaseHint;
use crate::core::model::command::{Script, option_value};
use crate::core::model::probe::{HandlerKind, ProbeKind};
use crate::core::model::workload::Container;

/// The number of a port given by number or by a name that the container declares.
#[must_use]
pub fn resolve_port(container: &Container<'_>, port: &serde_json::Value) -> Option<u16> {
    let number = match port {
        serde_json::Value::String(name) => match name.parse() {
            Ok(number) => number,
            Err(_) => container.tcp_ports().find(|(declared, _)| *declared == Some(name.as_str()))?.1,
        },
        number => number.as_i64()?,
    };
    u16::try_from(number).ok().filter(|number| *number != 0)
}

/// How a probe of today asks a port over HTTP, which is where scheme and headers can be read.
#[must_use]
pub fn asked_over_http<'a>(container: &Container<'a>, number: u16) -> Option<&'a serde_json::Value> {
    ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)?.handler()).find_map(|(kind, json)| {
        let port = json.get("port").and_then(|port| resolve_port(container, port));
        (kind == HandlerKind::HttpGet && port == Some(number)).then_some(json)
    })
}

/// A port that is written alone, or at the end of an address such as `http://0.0.0.0:2379` or `:8086`; of several
/// addresses, the first.
#[must_use]
pub fn port_in_address(text: &str) -> Option<u16> {
    let first = text.split(',').next()?.trim();
    let address = first.split_once("://").map_or(first, |(_, rest)| rest);
    let address = address.split('/').next()?;
    address.rsplit(':').next()?.parse().ok()
}

/// The client port: the existing probe's, else the hint's, else what environment and arguments say, else the declared
/// port that is the engine's, else the well-known one.
pub(super) fn client_port(profile: &Profile, container: &Container<'_>, hint: Option<&DatabaseHint>) -> ClientPort {
    let known = |number: u16, source: String| ClientPort::Known { number, source };
    let mut probed: Vec<(u16, String)> = Vec::new();
    for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
        let source = format!("the {} probe", probe.kind.word());
        if let Some((HandlerKind::TcpSocket, _)) = probe.handler() {
            let dialled = probe.port().and_then(|port| resolve_port(container, port));
            let client = dialled.filter(|number| profile.other_port(container, *number).is_none());
            probed.extend(client.map(|number| (number, source.clone())));
        }
        let Some(command) = probe.exec_command() else { continue };
        for call in Script::in_container(container, &command).calls() {
            if profile.client(call).is_some() && asks_elsewhere(call).is_none() {
                let port = call.option(profile.client_port_options).and_then(port_in_address);
                probed.extend(port.map(|number| (number, source.clone())));
            }
        }
    }
    if let Some((number, source)) = probed.first() {
        if let Some((other, from)) = probed.iter().find(|(other, _)| other != number)
            && hint.and_then(|hint| hint.port).is_none()
        {
            return ClientPort::Ambiguous(format!("{source} asks port {number}, {from} asks port {other}"));
        }
        if hint.and_then(|hint| hint.port).is_none() {
            return known(*number, source.clone());
        }
    }
    if let Some(number) = hint.and_then(|hint| hint.port).and_then(|port| u16::try_from(port).ok()) {
        return known(number, "the policy".to_owned());
    }
    let command_line = container.command_line();
    // `--port 0 --tls-port 6380`: a zero switches that one off.
    let by_argument =
        profile.port_arguments.iter().filter_map(|name| port_in_address(option_value(&command_line, &[name])?));
    if let Some(number) = by_argument.into_iter().find(|number| *number != 0) {
        return known(number, "the server's arguments".to_owned());
    }
    let stated = container.environment().find_map(|(name, value)| {
        profile.port_environment.contains(&name).then_some(())?;
        // A zero switches that one off, here too.
        Some((port_in_address(value?).filter(|number| *number != 0)?, name))
    });
    if let Some((number, name)) = stated {
        return known(number, format!("the environment variable {name}"));
    }
    let declared = declared_port(profile, container);
    // A variable that takes its value from elsewhere moves the port, and nobody can say where to.
    let hidden = container.environment().find(|(name, _)| profile.port_environment.contains(name));
    match (hidden, &declared) {
        (Some((name, _)), ClientPort::Known { source, .. }) if source != DECLARED => ClientPort::Ambiguous(format!(
            "the environment variable {name} says the port, and its value is not in the manifest"
        )),
        _ => declared,
    }
}

const DECLARED: &str = "the declared port";

fn declared_port(profile: &Profile, container: &Container<'_>) -> ClientPort {
    let declared: Vec<_> =
        container.tcp_ports().filter_map(|(name, number)| Some((name, u16::try_from(number).ok()?))).collect();
    let known = |number: u16| ClientPort::Known { number, source: DECLARED.to_owned() };
    if let Some((_, number)) = declared.iter().find(|(_, number)| *number == profile.port) {
        return known(*number);
    }
    let named: Vec<_> =
        declared.iter().filter(|(name, _)| name.is_some_and(|name| profile.port_names.contains(&name))).collect();
    let unnamed: Vec<_> = declared.iter().filter(|(name, _)| name.is_none()).collect();
    match (named.as_slice(), unnamed.as_slice()) {
        ([(_, number)], _) | ([], [(_, number)]) => known(*number),
        ([], []) => ClientPort::Known { number: profile.port, source: format!("{}'s well-known port", profile.engine) },
        _ => {
            let numbers: Vec<_> = declared.iter().map(|(_, number)| number.to_string()).collect();
            ClientPort::Ambiguous(format!(
                "it declares the ports {} and none is known to be the one",
                numbers.join(", ")
            ))
        }
    }
}
