//! The share of the CPU that the kernel gives a container when there is not enough for all.
//!
//! The kubelet turns the request into cgroup v1 shares; on cgroup v2 the container runtime turns those into a weight,
//! in one of two ways (kubernetes/kubernetes#131216). Which of them a node uses depends on its runtime alone.

/// The least shares that the kubelet gives, which is what a container without a request gets.
const LEAST_SHARES: u64 = 2;
/// The most that the kernel takes.
const MOST_SHARES: u64 = 262_144;

/// The cgroup v1 shares for a request in thousandths of a core (`MilliCPUToShares` in `pkg/kubelet/cm`).
#[must_use]
pub fn shares(milli: i128) -> u64 {
    let shares = u64::try_from(milli.max(0).saturating_mul(1024) / 1000).unwrap_or(MOST_SHARES);
    shares.clamp(LEAST_SHARES, MOST_SHARES)
}

/// The cgroup v2 weight up to runc 1.3.1 and crun 1.22: a straight line, on which one core (1024 shares) weighs 39,
/// while a process outside of Kubernetes weighs 100.
#[must_use]
pub fn linear(shares: u64) -> u64 {
    1 + ((shares.clamp(LEAST_SHARES, MOST_SHARES) - 2) * 9999) / 262_142
}

/// The cgroup v2 weight since runc 1.3.2 and crun 1.23: a curve through (2, 1), (1024, 100) and (262144, 10000)
/// (`ConvertCPUSharesToCgroupV2Value` of opencontainers/cgroups 0.0.3; containers/crun#1767).
#[must_use]
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn quadratic(shares: u64) -> u64 {
    match shares {
        0..=LEAST_SHARES => 1,
        MOST_SHARES.. => 10_000,
        shares => {
            let log = (shares as f64).log2();
            let exponent = (log * log + 125.0 * log) / 612.0 - 7.0 / 34.0;
            // Between 1 and 10000, so nothing is lost.
            10_f64.powf(exponent).ceil() as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_become_shares() {
        let table = [(0, 2), (1, 2), (250, 256), (500, 512), (1000, 1024), (2000, 2048), (i128::MAX, 262_144), (-5, 2)];
        for (milli, expected) in table {
            assert_eq!(shares(milli), expected, "{milli}m");
        }
    }

    /// 2000 shares are 77 before and 170 after in opencontainers/runc#4896; the three fixed points are in the sources.
    #[test]
    fn shares_become_weights_in_two_ways() {
        let table = [(2, 1, 1), (256, 10, 35), (1024, 39, 100), (2000, 77, 170), (262_144, 10_000, 10_000)];
        for (shares, straight, curved) in table {
            assert_eq!((linear(shares), quadratic(shares)), (straight, curved), "{shares} shares");
        }
    }

    proptest::proptest! {
        #[test]
        fn more_shares_never_weigh_less(one in 0..300_000_u64, more in 0..300_000_u64) {
            proptest::prop_assert!(linear(one) <= linear(one + more));
            proptest::prop_assert!(quadratic(one) <= quadratic(one + more));
            proptest::prop_assert!((1..=10_000).contains(&quadratic(one)) && (1..=10_000).contains(&linear(one)));
        }
    }
}
