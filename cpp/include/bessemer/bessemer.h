// The public C++ API: build or parse a graph, compile it for a device, fill weights, run. Errors
// are values (Result); nothing throws. Link `bessemer::core` of find_package(bessemer).
//
//   bessemer::register_all_devices();
//   auto graph = bessemer::parse_graph(text);
//   auto device = bessemer::open_device("cpu");
//   auto exe = bessemer::Executable::create(*graph, *device, {});
//   (*exe)->weights()->set("w", bessemer::DType::kF32, shape, bytes);
//   (*exe)->session().run(extents, inputs, outputs);
//
// Programs and sealed weights may be used from any thread; a session by one at a time.
#pragma once

#include "base/dtype.h"
#include "base/error.h"
#include "devices/register_devices.h"
#include "ir/graph.h"
#include "ops/op_impl.h"
#include "runtime/device.h"
#include "runtime/executable.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "runtime/weights.h"
