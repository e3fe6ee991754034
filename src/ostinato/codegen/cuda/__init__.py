"""The CUDA target: functions of the loop IR bound to blocks and threads, as Numba CUDA source."""
