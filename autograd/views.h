#pragma once
#include "autograd/state.h"

namespace reprise::autograd {

// Note [Writes on the tape]
//
// A write through a view changes what its base is, and all other views of it. The tape follows views of floats: each
// knows its base and the view operators that lead to it.
// - What is written becomes a new value of the handle: its place on the tape is the write's node.
// - Written through a view, the *base* is what the write makes of it (CopySlices): outside of the view the gradient
// goes on to the old base, inside it goes through the write's node.
// - A view's place is brought up to date when somebody asks for it and the storage has been written since: it is then
// the view operators' nodes upon its base's place.
// - A view that a custom Function returns, or that was made where gradients were off, is not written by what has a
// gradient (graph::ViewMade); nor are views of it. The latter is written where gradients are on by nothing at all while
// its base wants one: written where they are off, it has its base's place.
// Where the tape was not followed (views made before the process asked
// for gradients, or in an InferenceScope), such a write is an error: its base is not known.

/// After a view operator: `made` is a view of `of`, by this call.
void follow_view(const graph::OpCall&, const Tensor& of, const Tensor& made, bool gradients);
/// Brings a view's place up to date.
void bring_up_to_date(const State&);
/// A view's place as that of what its base is now: the view operators' nodes upon it. Empty: the base wants no
/// gradient.
Edge place_by_base(const State&);
/// Throws InvalidArgument for a view whose place cannot be brought up to date: of a Function, whose derivative is of
/// what was there before.
void check_up_to_date(const State&);
/// `made` is a view of somebody through which nothing with a gradient is written, and whose derivative is not that of
/// views.
void note_view(const Tensor& made, graph::ViewMade how);
/// Before a call writes to it: throws InvalidArgument where the tape cannot follow. `gradients`: what is written, or
/// what it is written to, wants some.
void check_may_write(const Tensor& self, const std::string& op, bool gradients, SourceLoc);
/// The same, before a call whose writes are known as a whole: would it throw?
bool may_write(const Tensor& self);
/// After it: `node`'s result is what the handle holds now.
void written_by(const Tensor& self, const std::shared_ptr<Node>& node, std::uint32_t result);
/// The same of one among several results of a node that reads what was there before by itself.
void replaced_by(const Tensor& self, const std::shared_ptr<Node>& node, std::uint32_t result);

}  // namespace reprise::autograd
