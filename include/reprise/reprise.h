#pragma once
// Everything of Reprise.
#include "reprise/compile.h"
#include "reprise/device.h"
#include "reprise/dlpack.h"
#include "reprise/dtype.h"
#include "reprise/error.h"
#include "reprise/int.h"
#include "reprise/ops.h"
#include "reprise/safetensors.h"
#include "reprise/scalar.h"
#include "reprise/stats.h"
#include "reprise/stream.h"
#include "reprise/tensor.h"
