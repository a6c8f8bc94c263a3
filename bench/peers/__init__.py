"""Reprise beside what a user would take in its place: ./run bench --peers (docs/performance.md, "Beside other libraries").

  workloads.py   what is measured: names, sizes, inputs, what must be reached
  nets.py        each workload as a function over operators that every peer has
  ops_*.py       those operators: PyTorch's, JAX's, NumPy's, and as nodes of an ONNX file (ONNX Runtime, OpenVINO; Reprise's reader)
  run_onnx.py    the two libraries that run such files
  contender.py   a peer in a process of its own, asked over a line protocol; ../peers/reprise_peer.cc answers the same
  process.py     the driver's end of it: time limits, crashes
  driver.py      rounds in turns, agreement, the state file
  report.py      tables, verdicts;  plots.py  pictures
"""
