# Read by ctest when it starts; every test inherits it.
set(ENV{SIDEBAND_DISK_WARN} 100)
set(ENV{SIDEBAND_DISK_REFUSE} 100)
set(ENV{SIDEBAND_DISK_STOP} 100)
