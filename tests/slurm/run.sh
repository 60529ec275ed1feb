#!/bin/bash
# Runs the scripts of examples/slurm under a cluster of one node that is this machine, kills a task in the middle, and
# compares the merged run with that of one process. It takes root and Debian's packages slurmctld, slurmd,
# slurm-client and munge:
#     tests/slurm/run.sh target/release/bristle
set -euo pipefail

program=$(realpath "$1")
scripts=$(realpath "$(dirname "$0")/../../examples/slurm")
place=$(mktemp -d)
node=$(hostname -s)
cd "$place"
mkdir bin state spool
ln -s "$program" bin/bristle
export PATH=$place/bin:$PATH SLURM_CONF=$place/slurm.conf

daemons=()
stop() {
    kill "${daemons[@]}" 2>/dev/null || true
    wait
    cd /
    rm -rf "$place"
}
trap stop EXIT

head -c 1024 /dev/urandom >munge.key
chmod 400 munge.key
chmod 755 "$place"
munged --foreground --force --key-file="$place/munge.key" --socket="$place/munge.socket" \
    --pid-file="$place/munge.pid" --log-file="$place/munge.log" --seed-file="$place/munge.seed" 2>munge.err &
daemons+=($!)
cat >slurm.conf <<CONF
ClusterName=here
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$place/munge.socket
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
MessageTimeout=60
SlurmdParameters=config_overrides
NodeName=$node NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
for _ in {1..50}; do [[ -S munge.socket ]] && break; sleep 0.1; done
slurmctld -D 2>slurmctld.err &
daemons+=($!)
slurmd -D -N "$node" 2>slurmd.err &
daemons+=($!)
for _ in {1..100}; do sinfo --noheader 2>/dev/null | grep -q idle && break; sleep 0.2; done
sinfo

cat >slide.toml <<'TOML'
duration = 0.5
record_every = 0.01
contacts = 4000
[patch]
shape = "disc"
cells = 5
[friction]
mu_c = { uniform = [0.3, 0.9] }
[body]
kind = "body"
mass = { uniform = [0.5, 1.5] }
inertia = { disc = 0.05 }
[initial]
twist = [0.1, 0, 1.0]
[inputs]
tilt = { angle = 0.2 }
TOML
merge=$("$scripts/submit.sh" slide.toml run 4 --format npz,zarr)
# A node that is lost has its tasks requeued; here one is, as soon as it has contacts on the disk.
killed=
for _ in {1..600}; do
    for slip in run.shards/*.partial/spool/slip; do
        if [[ -z $killed && -s $slip ]]; then
            shard=${slip#run.shards/}
            killed=${shard%%-*}
            scontrol requeue "$((merge - 1))_$killed"
            echo "requeued task $killed"
        fi
    done
    [[ -n $killed ]] && break
    sleep 0.05
done
[[ -n $killed ]] || { echo "no task had contacts on the disk while it ran" >&2; exit 1; }
# Slurm starts a task that was requeued some two minutes later.
for _ in {1..1200}; do [[ -z $(squeue --noheader) ]] && break; sleep 0.25; done
squeue
bristle rollout slide.toml --engine cpu --quiet --format npz,zarr --out whole
diff <(cd whole && sha256sum --check --quiet SHA256SUMS && cat SHA256SUMS) <(cd run && cat SHA256SUMS)
echo "the merged run is that of one process"
