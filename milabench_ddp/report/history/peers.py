"""Each device against its peers in the same run, so that what all of them share cancels."""

from ...numerics import Floats, np

ROUNDS = 4  # of estimating levels and waves in turn; they hardly change after the second


def against_peers(logs: Floats) -> Floats:
    """The logarithms of rates, less what the peers of each device did in the same run.

    Devices differ for good, and a run may be on other devices than the one before. So a run is
    described by how much its devices differ from their own levels: a device is compared with the
    median of this over its peers (J. W. Tukey's median polish, with the device itself left out).

    Args:
        logs: shape (runs, devices); NaN where a device took no part in a run.

    Returns:
        the same shape; NaN also where a device had no peer.
    """
    levels = _median(logs)
    relative = logs
    for _ in range(ROUNDS):
        moved = logs - levels
        relative = logs - np.array([_medians_of_others(row) for row in moved])
        levels = _median(relative)
    return relative


def _median(values: Floats) -> Floats:
    """The median of the known values of each column; NaN without any."""
    found = np.full(values.shape[1], np.nan)
    is_known = ~np.isnan(values).all(axis=0)
    found[is_known] = np.nanmedian(values[:, is_known], axis=0)
    return found


def _medians_of_others(values: Floats) -> Floats:
    """For each value the median of the others that are known; NaN without any.

    Args:
        values: shape (n,).
    """
    found = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    count = len(known)
    if count < 2:
        return found
    order = known[np.argsort(values[known], kind="stable")]
    ordered = values[order]
    place = np.arange(count)
    # of the others, in ascending order, the ones in the middle: those from its own place on move up
    low, high = (count - 2) // 2, (count - 1) // 2
    found[order] = (ordered[low + (place <= low)] + ordered[high + (place <= high)]) / 2
    return found
