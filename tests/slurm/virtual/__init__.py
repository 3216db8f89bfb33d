"""A real Slurm of several nodes on one machine, for tests; ``tests/slurm/cluster`` runs it.

Each node is a set of Linux namespaces with a slurmd in it: it has a host name, a process table, a
/dev/shm and, with ``--netns``, a network interface and address of its own. All other files are the
host's, as if by NFS. The host itself is the login node, and runs slurmctld, slurmdbd, a MariaDB and
munged. Nothing of the system's own Slurm is used or changed. Only the standard library is needed.
"""
