# install rules: see issue; filled with the package config
