# Begin a machine of its own within namespaces: systemd as process 1, with deploy/nexus-mcp.service.
# Its root is in memory, and what it gets of this machine is read-only: a systemd that begins empties /tmp, for example.
# Arguments: an empty folder for the root, the checkout, the folder of a Python, the folder of its packages.
set -eu
root=$1 checkout=$2 python=$3 packages=$4
mount --make-rprivate /
mount -t tmpfs tmpfs "$root"
cd "$root"
mkdir -p dev etc/systemd/system etc/nexus-mcp host proc root run srv/projects/shop sys/fs/cgroup tmp usr \
    opt/python opt/checkout opt/packages var/lib/nexus-mcp
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
mount -o bind,ro /usr usr
mount -o bind,ro "$checkout" opt/checkout
mount -o bind,ro "$python" opt/python
mount -o bind,ro "$packages" opt/packages
mount -t tmpfs tmpfs usr/local/bin
mount -t proc proc proc
mount -o bind,ro proc/sys proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs dev
mkdir dev/shm dev/pts dev/mqueue dev/hugepages
ln -s pts/ptmx dev/ptmx
for name in null zero full random urandom tty; do
    touch "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
done
cat >usr/local/bin/nexus-mcp <<'END'
#!/bin/sh
export LD_LIBRARY_PATH=/opt/python/lib PYTHONHOME=/opt/python PYTHONPATH=/opt/checkout:/opt/packages PYTHONDONTWRITEBYTECODE=1
exec /opt/python/bin/python3 -m nexus_mcp "$@"
END
chmod 755 usr/local/bin/nexus-mcp
printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n' >etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' >etc/group
echo 'nexus:x:990:990::/var/lib/nexus-mcp:/usr/sbin/nologin' >>etc/passwd
echo 'nexus:x:990:' >>etc/group
cp /etc/ld.so.cache etc
touch etc/machine-id
cp "$checkout/deploy/nexus-mcp.service" etc/systemd/system
# Without default dependencies nothing else of systemd begins.
mkdir etc/systemd/system/nexus-mcp.service.d
printf '[Unit]\nDefaultDependencies=no\n' | tee etc/systemd/system/nexus-mcp.service.d/test.conf >etc/systemd/system/test.target
echo /srv/projects/shop >etc/nexus-mcp/projects.txt
chown -R 990:990 srv/projects var/lib/nexus-mcp
pivot_root . host
cd /
umount -l /host
rmdir /host
# Nothing of this machine may be left that can be written.
for path in /usr /opt/checkout /opt/python /opt/packages; do
    if touch "$path/written" 2>/dev/null; then exit 1; fi
done
exec env -i container=other PATH=/usr/sbin:/usr/bin /usr/lib/systemd/systemd --system --unit=test.target \
    --log-target=console --show-status=no
