pub const INSTALL_SOFTWARE_DRIVER: &str = "sudo apt-get install --no-install-recommends mesa-vulkan-drivers libvulkan1";
