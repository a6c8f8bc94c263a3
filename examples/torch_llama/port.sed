# What changes mechanically when a program moves from libtorch to Reprise: sed -E -f port.sed program.cpp > program.cc
# Names stay: reprise/compat.h has them. Read the result: a line in which a rule fits by accident is yours to mend. docs/from_libtorch.md explains both rules.

# 1. One header.
s/<torch\/(torch|script|all)\.h>/<reprise\/compat.h>/

# 2. Sizes stay symbolic: an Int where libtorch has an int64_t. (`auto` needs no change.)
s/\bint64_t ([A-Za-z_]+ = [A-Za-z_.]+(\(\))?\.(size|stride|numel)\()/torch::Int \1/g
