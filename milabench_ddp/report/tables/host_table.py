"""The table of hosts: what the monitor saw of each."""

from .monitor_tables import HOST_MEANS, HOSTS, columns_of, watched_hosts
from .selection import TableOf

hosts = TableOf("Hosts", watched_hosts, columns_of(HOST_MEANS, HOSTS), always=1)
