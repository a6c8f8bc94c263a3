# What changes mechanically when a program moves from libtorch to Reprise: sed -E -f port.sed program.cpp > program.cc
# Read the result: a line in which a rule fits by accident is yours to mend. docs/from_libtorch.md explains each rule.

# 1. Headers and names. F is what programs call torch::nn::functional.
s|<torch/(torch\|script\|all)\.h>|<reprise/reprise.h>|
s/c10::(optional|nullopt)/std::\1/g
s/torch::nn::functional/reprise/g
s/\b(torch|at|c10)::/reprise::/g
s/reprise::(kCPU|DeviceType::CPU)\b/reprise::Device::cpu()/g
s/reprise::(kCUDA|DeviceType::CUDA)\b/reprise::Device::cuda()/g

# 2. Options are a struct with two fields; options of functionals are plain arguments.
s/reprise::TensorOptions\(\)\.dtype\(([^()]*(\(\))?)\)\.device\(([^()]*(\(\))?)\)/reprise::TensorOptions{.dtype = \1, .device = \3}/g
s/reprise::TensorOptions\(\)\.dtype\(([^()]*(\(\))?)\)/reprise::TensorOptions{.dtype = \1}/g
s/reprise::dtype\(([^()]*)\)/{.dtype = \1}/g
s/\b(zeros|ones|empty|full|rand|randn|randint|arange|eye)\((.*), (reprise::k[A-Z][A-Za-z0-9]*)\)/\1(\2, {.dtype = \3})/
s/F::[A-Za-z]+FuncOptions\(([^()]*)\)/\1/g

# 3. There are no gradients to switch off.
/^ *(reprise::(NoGradGuard|InferenceMode|AutoGradMode)) .*;$/d

# 4. Sizes stay symbolic: an Int where libtorch has an int64_t. (`auto` needs no change.)
s/\bint64_t ([A-Za-z_]+ = [A-Za-z_.]+(\(\))?\.(size|stride|numel)\()/reprise::Int \1/g
s/\.sizes\(\)\.vec\(\)/.sizes()/g
