//! Whether a server listens where the kubelet can dial it, as far as the manifest tells.

use crate::core::model::command::option_value;
use crate::core::model::workload::Container;

/// Every word of a container's command line, those of a script in it as well.
pub(super) fn words<'a>(container: &Container<'a>) -> Vec<&'a str> {
    let split = |argument: &'a str| argument.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    container.command_line().into_iter().flat_map(split).collect()
}

/// Why nothing answers on the pod's IP, where one of these arguments or environment variables names loopback addresses
/// only. What is expanded at run time is mostly the pod's own address.
pub(super) fn loopback_only(container: &Container<'_>, arguments: &[&str], environment: &[&str]) -> Option<String> {
    let words = words(container);
    let by_argument = arguments.iter().find_map(|name| Some((*name, option_value(&words, &[*name])?)));
    let by_environment = || {
        let mut stated = container.environment().filter(|(name, _)| environment.contains(name));
        stated.find_map(|(name, value)| Some((name, value?)))
    };
    let (name, addresses) = by_argument.or_else(by_environment)?;
    addresses.split(',').all(is_loopback).then(|| format!("{name} is {addresses}: nothing answers on the pod's IP"))
}

/// `127.0.0.1:8086`, `localhost`, `http://[::1]:2379`; not `:8086`, which is every address.
fn is_loopback(address: &str) -> bool {
    let address = address.trim();
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = match address.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None if address == "::1" => Some(address),
        None => address.split(':').next(),
    };
    host.is_some_and(|host| host == "localhost" || host == "::1" || host.starts_with("127."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_told_from_every_address() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("127.0.0.1:8086", true),
            ("localhost:26257", true),
            ("http://[::1]:2379", true),
            ("::1", true),
            (":8086", false),
            ("0.0.0.0:8086", false),
            ("[::]:8086", false),
            ("$(POD_IP):8086", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(address), expected, "{address}");
        }
    }
}
