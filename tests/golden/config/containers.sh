# apptainer.org/docs/user/main: cli/apptainer_exec.html, gpu.html
# apptainer, cuda
apptainer exec --nv --bind=/shared/base:/shared/base --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/s:/tmp/s /shared/torch.img python3 a.py
# apptainer, rocm
apptainer exec --rocm --bind=/shared/base:/shared/base --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/s:/tmp/s /shared/torch.img python3 a.py
# apptainer, cpu
apptainer exec --bind=/shared/base:/shared/base --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/s:/tmp/s /shared/torch.img python3 a.py
# ch-run(1) of 0.31, charliecloud.io/latest/ch-run.html
# charliecloud, cuda
ch-run --bind=/shared/base:/shared/base --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/s:/tmp/s /shared/torch.img -- python3 a.py
# charliecloud, rocm
ch-run --bind=/shared/base:/shared/base --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/s:/tmp/s /shared/torch.img -- python3 a.py
# charliecloud, cpu
ch-run --bind=/shared/base:/shared/base --bind=/home/me/suite:/home/me/suite --bind=/data:/data --bind=/s:/tmp/s /shared/torch.img -- python3 a.py
# github.com/NVIDIA/enroot: doc/cmd/start.md, doc/image-format.md, conf/hooks
# enroot, cuda
bash -c 'exec enroot start $(compgen -e | grep -vxE "HOME|(LD_LIBRARY_)?PATH|ENROOT_.*" | sed s/^/--env=/) "$@"' enroot --env=NVIDIA_VISIBLE_DEVICES=all --env=NVIDIA_DRIVER_CAPABILITIES=all --mount=/shared/base:/shared/base:none:x-create=auto,rbind --mount=/home/me/suite:/home/me/suite:none:x-create=auto,rbind --mount=/data:/data:none:x-create=auto,rbind --mount=/s:/tmp/s:none:x-create=auto,rbind /shared/torch.img python3 a.py
# enroot, rocm
bash -c 'exec enroot start $(compgen -e | grep -vxE "HOME|(LD_LIBRARY_)?PATH|ENROOT_.*" | sed s/^/--env=/) "$@"' enroot --mount=/shared/base:/shared/base:none:x-create=auto,rbind --mount=/home/me/suite:/home/me/suite:none:x-create=auto,rbind --mount=/data:/data:none:x-create=auto,rbind --mount=/s:/tmp/s:none:x-create=auto,rbind /shared/torch.img python3 a.py
# enroot, cpu
bash -c 'exec enroot start $(compgen -e | grep -vxE "HOME|(LD_LIBRARY_)?PATH|ENROOT_.*" | sed s/^/--env=/) "$@"' enroot --mount=/shared/base:/shared/base:none:x-create=auto,rbind --mount=/home/me/suite:/home/me/suite:none:x-create=auto,rbind --mount=/data:/data:none:x-create=auto,rbind --mount=/s:/tmp/s:none:x-create=auto,rbind /shared/torch.img python3 a.py
# podman-run(1) of 4.3; Container Toolkit: CDI; rocm.docs.amd.com
# podman, cuda
podman run --rm --interactive --pull=never --log-driver=none --cgroups=disabled --network=host --ipc=host --env-host --security-opt=label=disable --device=nvidia.com/gpu=all --volume=/shared/base:/shared/base --volume=/home/me/suite:/home/me/suite --volume=/data:/data --volume=/s:/tmp/s --entrypoint= torch:2.15 python3 a.py
# podman, rocm
podman run --rm --interactive --pull=never --log-driver=none --cgroups=disabled --network=host --ipc=host --env-host --security-opt=label=disable --device=/dev/kfd --device=/dev/dri --group-add=keep-groups --volume=/shared/base:/shared/base --volume=/home/me/suite:/home/me/suite --volume=/data:/data --volume=/s:/tmp/s --entrypoint= torch:2.15 python3 a.py
# podman, cpu
podman run --rm --interactive --pull=never --log-driver=none --cgroups=disabled --network=host --ipc=host --env-host --security-opt=label=disable --volume=/shared/base:/shared/base --volume=/home/me/suite:/home/me/suite --volume=/data:/data --volume=/s:/tmp/s --entrypoint= torch:2.15 python3 a.py
# github.com/NVIDIA/pyxis/wiki/Usage, args.c
# pyxis, cuda
srun '--container-image=nvcr.io#nvidia/pytorch:25.10-py3' --container-mounts=/shared/base:/shared/base,/home/me/suite:/home/me/suite,/data:/data,/s:/tmp/s --no-container-mount-home --no-container-entrypoint python3 a.py
# pyxis, rocm
srun '--container-image=nvcr.io#nvidia/pytorch:25.10-py3' --container-mounts=/shared/base:/shared/base,/home/me/suite:/home/me/suite,/data:/data,/s:/tmp/s --no-container-mount-home --no-container-entrypoint python3 a.py
# pyxis, cpu
srun '--container-image=nvcr.io#nvidia/pytorch:25.10-py3' --container-mounts=/shared/base:/shared/base,/home/me/suite:/home/me/suite,/data:/data,/s:/tmp/s --no-container-mount-home --no-container-entrypoint python3 a.py
