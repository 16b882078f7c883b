#!/usr/bin/env bash
# distributed 2026.8: LocalCluster(dashboard_address=None) serves HTTP on port 8787 all the same.
# Expected: None is documented to disable the dashboard, so no port is opened for it, and two such
#   clusters at a time know nothing of each other.
# Seen: the scheduler starts its web server without the dashboard, on port 8787 of all interfaces.
#   The second cluster warns that the port is in use and takes another.
# Why it matters: where warnings are errors, as in tests, the second cluster fails to start.
#   dashboard_address="127.0.0.1:0" gives each cluster a port of its own, on this machine alone.
# In this project: the tests in tests/env/execution and benchmarks/real_runs.py start clusters so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile dask==2026.8.0 distributed==2026.8.0
cat >"$folder/clusters.py" <<'PYTHON'
import warnings

from distributed import LocalCluster


def ports(address):
    """Those of the web servers of two clusters at a time, and what was warned of."""
    options = {"n_workers": 0, "processes": False}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with LocalCluster(**options, dashboard_address=address) as first:
            with LocalCluster(**options, dashboard_address=address) as second:
                servers = [each.scheduler.http_server for each in (first, second)]
                names = [
                    sorted({socket.getsockname()[:2] for socket in server._sockets.values()})
                    for server in servers
                ]
    return names, [str(each.message).splitlines()[0] for each in caught]


if __name__ == "__main__":
    names, said = ports(None)
    print("None:", names[0], said)
    assert all(("0.0.0.0" in dict(each)) for each in names), "changed: no server, or on one interface"
    assert "Port 8787 is already in use." in said
    names, said = ports("127.0.0.1:0")
    print("127.0.0.1:0:", names, said)
    assert all(host == "127.0.0.1" for each in names for host, _ in each) and not said
PYTHON
"$folder/venv/bin/python" "$folder/clusters.py"
