# Process 1 of a node: makes the node its own, starts slurmd, then only reaps what is orphaned.
# Started by node.py in namespaces of its own.  node.sh NAME DIRECTORY [ADDRESS]
set -euo pipefail
name=$1 directory=$2 address=${3:-}

hostname "$name"
mount --bind "$directory/etc/hosts" /etc/hosts
mount --bind "$directory/etc" /etc/slurm
mount -t tmpfs -o mode=1777 shm /dev/shm

if [ -n "$address" ]; then
  mount -t sysfs sysfs /sys # shows the interfaces of this namespace
  ip link set lo up
  for _ in {1..200}; do # the cable comes from outside
    ip link set eth0 up 2>/dev/null && break
    sleep 0.05
  done
  ip address add "$address/24" dev eth0
fi

slurmd -N "$name" -f "$directory/etc/slurm.conf"
while :; do
  sleep 86400 &
  wait $!
done
