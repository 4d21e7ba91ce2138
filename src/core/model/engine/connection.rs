//! Programs that open a connection and ask little or nothing, such as `nc -z localhost 2181`.

use super::profile::CONNECTING;
use crate::core::model::command::Call;

/// A connection that a call opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialled<'a> {
    /// The host as it was written.
    pub host: &'a str,
    /// The port; None where it is known at run time only.
    pub port: Option<u16>,
}

/// Where a call of `nc`, `socat` or the shell's `/dev/tcp/HOST/PORT` connects to; None where it is none of them.
pub(super) fn dialled(call: &Call) -> Option<Dialled<'_>> {
    if let Some(address) = call.path.strip_prefix("/dev/tcp/") {
        let (host, port) = address.split_once('/')?;
        return Some(Dialled { host, port: port.parse().ok() });
    }
    if !CONNECTING.contains(&call.program()) {
        return None;
    }
    // `socat - TCP4:localhost:2181,connect-timeout=2`
    let address = call.arguments.iter().find(|argument| argument.to_ascii_uppercase().starts_with("TCP"));
    if let (true, Some(address)) = (call.program() == "socat", address) {
        let (_, address) = address.split(',').next()?.split_once(':')?;
        let (host, port) = address.rsplit_once(':')?;
        return Some(Dialled { host, port: port.parse().ok() });
    }
    // `nc -w 2 localhost 2181`: host and port come last, before or after the options.
    let is_port = |text: &str| text.starts_with('$') || text.parse::<u16>().is_ok();
    let pairs = call.arguments.windows(2).rev();
    let (host, port) = pairs.map(|pair| (pair.first(), pair.get(1))).find_map(|(host, port)| {
        let (host, port) = (host?, port?);
        (!host.starts_with('-') && host.parse::<u16>().is_err() && is_port(port)).then_some((host, port))
    })?;
    Some(Dialled { host, port: port.parse().ok() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::command::Script;

    #[test]
    fn host_and_port_are_found_among_options() {
        type Found<'a> = Option<(&'a str, Option<u16>)>;
        let table: [(&[&str], Found<'_>); 8] = [
            (&["nc", "-z", "localhost", "2181"], Some(("localhost", Some(2181)))),
            (&["nc", "-w", "1", "-q", "1", "127.0.0.1", "2181"], Some(("127.0.0.1", Some(2181)))),
            (&["nc", "localhost", "2181", "-w", "2"], Some(("localhost", Some(2181)))),
            (&["nc", "localhost", "$ZOO_PORT"], Some(("localhost", None))),
            (&["socat", "-", "TCP:db:2181,connect-timeout=2"], Some(("db", Some(2181)))),
            (&["/dev/tcp/127.0.0.1/9181"], Some(("127.0.0.1", Some(9181)))),
            (&["nc", "-help"], None),
            (&["curl", "localhost", "80"], None),
        ];
        for (command, expected) in table {
            let script = Script::read(command);
            let found = script.calls().first().and_then(|call| dialled(call)).map(|found| (found.host, found.port));
            assert_eq!(found, expected, "{command:?}");
        }
    }
}
