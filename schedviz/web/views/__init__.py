"""The pages: one file each. They ask `readers`, wish through `actions`, and obey `permissions`."""
