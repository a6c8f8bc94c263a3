#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "reprise/rt.h"
#include "reprise/safetensors.h"
#include "runtime/export/code_file.h"
#include "runtime/replay/recording.h"

namespace reprise::rt {

/// A program that was read from a file, with its weights. Threads: any.
class Loaded {
 public:
  /// Throws Error: Io, FileFormat; DeviceUnavailable where the file has no code for this processor.
  Loaded(const std::string& path, const std::string& level, Reading how);

  const detail::CodeProgram& code() const { return *code_; }
  const std::string& signature() const { return signature_; }
  const std::vector<std::string>& guards() const { return guards_; }

  /// What a call gives and takes, by position.
  struct Place {
    enum class Of : std::uint8_t { Tensor, Integer, Number, Nothing } of = Of::Nothing;
    std::uint32_t at = 0;  ///< input, number, tensor result or number result
    std::string name;
  };
  const std::vector<Place>& arguments() const { return arguments_; }
  const std::vector<Place>& results() const { return results_; }
  const std::vector<std::uint32_t>& weights() const { return weights_; }  ///< inputs
  /// Of an input; undefined until it is bound.
  Tensor weight(std::uint32_t input) const;
  void bind(const std::string& name, const rprt_tensor&);
  /// Throws Error; nothing is changed then, and no result is there.
  void call(const rprt_value* arguments, std::size_t n_arguments, rprt_value* results, std::size_t n_results);

 private:
  /// What is bound, by input.
  struct Inputs {
    std::vector<Tensor> tensors;
    /// a call has found that these weights may stand together: what they decide alone need not be asked again
    mutable std::atomic<bool> known{false};
  };
  std::shared_ptr<const Inputs> bound() const {
    const std::lock_guard lock(mu_);
    return bound_;
  }
  Loaded(const SafeTensors& file, const std::string& path, const std::string& level, Reading how);
  void find_places();
  void read_weights(const SafeTensors& file, const std::string& path, Reading how);
  void fill_words(const std::vector<const TensorImpl*>& inputs, const std::vector<std::int64_t>& numbers,
                  std::vector<std::int64_t>& words) const;
  void check_code_guards(const std::vector<std::int64_t>& words) const;
  /// Those before the program: their numbers are among the words then, and what they have made behind the tensors.
  void run_stages(std::vector<std::int64_t>& words, std::vector<Tensor>& made, std::vector<TensorImpl*>& tensors) const;
  /// The input that is to be one tensor with number `i`, if this is it: the same view of the same memory.
  const TensorImpl* same_tensor(const std::vector<const TensorImpl*>& inputs, std::size_t i, const TensorImpl&) const;
  /// rprt_value::integer of a result.
  std::int64_t itself(const TensorImpl*, const std::vector<TensorImpl*>& inputs) const;
  void give(detail::Outputs&, const std::vector<TensorImpl*>& inputs, rprt_value* results) const;

  std::unique_ptr<const detail::CodeProgram> code_;
  std::string signature_;
  std::vector<std::string> guards_;
  std::vector<Place> arguments_, results_;
  std::vector<std::uint32_t> weights_;
  std::vector<std::int64_t> numbers_;  // of a call, where they are the program's own
  mutable std::mutex mu_;
  std::shared_ptr<const Inputs> bound_;  // guarded by mu_
  runtime::RecordingCache recordings_;   // of *code_, and freed before it
};

/// A tensor over memory of the caller. Throws InvalidArgument for what is none.
Tensor tensor_of(const rprt_tensor&, const char* name);
void describe(const TensorImpl&, rprt_tensor&);

}  // namespace reprise::rt
