#!/usr/bin/env python3
"""What PyTorch's aot_export_module says of the module of tests/export (Export.SignatureIsPyTorchs): the sets that the
test expects. Fails where they differ from those below.

usage: compare_export.py          (with torch)
"""

import sys

import torch
from torch import nn
from torch._functorch.aot_autograd import aot_export_module

PARAMETERS = ["bn1.bias", "bn1.weight", "conv1.weight", "fc1.bias", "fc1.weight"]
MUTATED = ["bn1.running_mean", "bn1.running_var"]  # num_batches_tracked beside them, where a library counts batches


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 4, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.fc1 = nn.Linear(144, 5)

    def forward(self, x, t):
        y = torch.relu(self.bn1(self.conv1(x)))
        return ((self.fc1(torch.flatten(y, 1)) - t).abs().mean(),)


def main():
    _, signature = aot_export_module(
        Net(), [torch.randn(2, 2, 8, 8), torch.randn(2, 5)], trace_joint=True, output_loss_index=0
    )
    backward = signature.backward_signature
    mutated = sorted(set(signature.buffers_to_mutate.values()) - {"bn1.num_batches_tracked"})
    found = {
        "parameters": sorted(signature.inputs_to_parameters.values()),
        "mutated": mutated,
        "gradients to parameters": sorted(backward.gradients_to_parameters.values()),
        "gradients to user inputs": sorted(backward.gradients_to_user_inputs.values()),
        "user inputs": len(signature.user_inputs),
        "user outputs": len(signature.user_outputs),
    }
    wanted = {
        "parameters": PARAMETERS,
        "mutated": MUTATED,
        "gradients to parameters": PARAMETERS,
        "gradients to user inputs": [],
        "user inputs": 2,
        "user outputs": 1,
    }
    failed = 0
    for what, want in wanted.items():
        same = found[what] == want
        failed += not same
        print(f"{what}: {found[what]}" + ("" if same else f", expected {want}"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
