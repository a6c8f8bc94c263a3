#pragma once
#include "base/archive.h"
#include "guards/guard_set.h"

namespace reprise::guards {

/// Size programs and guards as bytes that mean the same in every build (docs/export_format.md). What is read evaluates
/// and checks as what was written, and takes nothing further: expressions have no form here.
///
/// Reading throws DamagedArchive where a number is out of its range. `words`: how many a call has.
void write_program(ArchiveWriter&, const ExprProgram&);
ExprProgram read_program(ArchiveReader&, std::size_t words);
void write_guards(ArchiveWriter&, const GuardSet&);
GuardSet read_guards(ArchiveReader&, std::size_t words);

/// A line of a source without its folder: files tell no paths of the machine that wrote them.
void write_place(ArchiveWriter&, SourceLoc);
SourceLoc read_place(ArchiveReader&);

}  // namespace reprise::guards
