"""Run the files of deploy/: both reverse proxies, the unit of systemd, the container."""
