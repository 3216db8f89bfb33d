# apptainer, cuda
apptainer exec --nv --bind=/shared/work:/shared/work --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/scratch:/tmp/scratch /shared/torch.img python3 a.py
# apptainer, rocm
apptainer exec --rocm --bind=/shared/work:/shared/work --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/scratch:/tmp/scratch /shared/torch.img python3 a.py
# apptainer, cpu
apptainer exec --bind=/shared/work:/shared/work --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/scratch:/tmp/scratch /shared/torch.img python3 a.py
# charliecloud, cuda
ch-run --cd=/shared/work --bind=/shared/work:/shared/work --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/scratch:/tmp/scratch /shared/torch.img -- python3 a.py
# charliecloud, rocm
ch-run --cd=/shared/work --bind=/shared/work:/shared/work --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/scratch:/tmp/scratch /shared/torch.img -- python3 a.py
# charliecloud, cpu
ch-run --cd=/shared/work --bind=/shared/work:/shared/work --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/scratch:/tmp/scratch /shared/torch.img -- python3 a.py
# enroot, cuda
bash -c 'exec enroot start $(compgen -e | grep -vxE '"'"'HOME|(LD_LIBRARY_)?PATH|ENROOT_.*'"'"' | sed s/^/--env=/) "$@"' enroot --env=NVIDIA_VISIBLE_DEVICES=all --env=NVIDIA_DRIVER_CAPABILITIES=compute,utility --mount=/shared/work:/shared/work:none:x-create=auto,rbind --mount=/home/me/suite:/home/me/suite:none:x-create=auto,rbind --mount=/data:/data:none:x-create=auto,rbind --mount=/scratch:/tmp/scratch:none:x-create=auto,rbind /shared/torch.img bash -c 'cd "$0" && exec "$@"' /shared/work python3 a.py
# enroot, rocm
bash -c 'exec enroot start $(compgen -e | grep -vxE '"'"'HOME|(LD_LIBRARY_)?PATH|ENROOT_.*'"'"' | sed s/^/--env=/) "$@"' enroot --mount=/shared/work:/shared/work:none:x-create=auto,rbind --mount=/home/me/suite:/home/me/suite:none:x-create=auto,rbind --mount=/data:/data:none:x-create=auto,rbind --mount=/scratch:/tmp/scratch:none:x-create=auto,rbind /shared/torch.img bash -c 'cd "$0" && exec "$@"' /shared/work python3 a.py
# enroot, cpu
bash -c 'exec enroot start $(compgen -e | grep -vxE '"'"'HOME|(LD_LIBRARY_)?PATH|ENROOT_.*'"'"' | sed s/^/--env=/) "$@"' enroot --mount=/shared/work:/shared/work:none:x-create=auto,rbind --mount=/home/me/suite:/home/me/suite:none:x-create=auto,rbind --mount=/data:/data:none:x-create=auto,rbind --mount=/scratch:/tmp/scratch:none:x-create=auto,rbind /shared/torch.img bash -c 'cd "$0" && exec "$@"' /shared/work python3 a.py
# podman, cuda
podman run --rm --interactive --pull=never --log-driver=none --cgroups=disabled --network=host --ipc=host --env-host --security-opt=label=disable --device=nvidia.com/gpu=all --workdir=/shared/work --volume=/shared/work:/shared/work --volume=/home/me/suite:/home/me/suite --volume=/data:/data --volume=/scratch:/tmp/scratch --entrypoint= torch:2.15 python3 a.py
# podman, rocm
podman run --rm --interactive --pull=never --log-driver=none --cgroups=disabled --network=host --ipc=host --env-host --security-opt=label=disable --device=/dev/kfd --device=/dev/dri --group-add=keep-groups --workdir=/shared/work --volume=/shared/work:/shared/work --volume=/home/me/suite:/home/me/suite --volume=/data:/data --volume=/scratch:/tmp/scratch --entrypoint= torch:2.15 python3 a.py
# podman, cpu
podman run --rm --interactive --pull=never --log-driver=none --cgroups=disabled --network=host --ipc=host --env-host --security-opt=label=disable --workdir=/shared/work --volume=/shared/work:/shared/work --volume=/home/me/suite:/home/me/suite --volume=/data:/data --volume=/scratch:/tmp/scratch --entrypoint= torch:2.15 python3 a.py
# pyxis, cuda
srun '--container-image=nvcr.io#nvidia/pytorch:25.10-py3' --container-mounts=/shared/work:/shared/work,/home/me/suite:/home/me/suite,/data:/data,/scratch:/tmp/scratch --container-workdir=/shared/work --no-container-mount-home --no-container-entrypoint python3 a.py
# pyxis, rocm
srun '--container-image=nvcr.io#nvidia/pytorch:25.10-py3' --container-mounts=/shared/work:/shared/work,/home/me/suite:/home/me/suite,/data:/data,/scratch:/tmp/scratch --container-workdir=/shared/work --no-container-mount-home --no-container-entrypoint python3 a.py
# pyxis, cpu
srun '--container-image=nvcr.io#nvidia/pytorch:25.10-py3' --container-mounts=/shared/work:/shared/work,/home/me/suite:/home/me/suite,/data:/data,/scratch:/tmp/scratch --container-workdir=/shared/work --no-container-mount-home --no-container-entrypoint python3 a.py
