// SPDX-License-Identifier: Apache-2.0
/// Reads the traces of tests/oracle/traces; the format is described in recorder/trace.py.
#pragma once

#include <cstdint>
#include <halfstep/core/dtype.hpp>
#include <map>
#include <string>
#include <vector>

namespace oracle {

/// The elements of one tensor as they were stored.
struct stored_tensor {
    std::vector<std::uint32_t> bits;
    bool absent = false;  ///< there was none: a parameter without a gradient

    /// The elements as `T`, whose bits were recorded.
    template <class T>
    std::vector<T> as() const {
        std::vector<T> result;
        for (std::uint32_t b : bits) {
            if constexpr (sizeof(T) == 4)
                result.push_back(halfstep::real_of(b));
            else
                result.push_back(T::from_bits(static_cast<std::uint16_t>(b)));
        }
        return result;
    }
};

/// The lines of a case, or of one step. What is asked for and is not there throws std::runtime_error.
class record {
  public:
    bool has(std::string const& key) const { return lines_.count(key) != 0; }
    std::vector<std::string> const& words(std::string const& key) const;
    std::string const& word(std::string const& key) const;
    std::vector<double> numbers(std::string const& key) const;
    double number(std::string const& key) const;
    float real(std::string const& key) const { return static_cast<float>(number(key)); }
    bool has_tensors(std::string const& key) const { return tensors_.count(key) != 0; }
    /// One for each line `key`, in order.
    std::vector<stored_tensor> const& tensors(std::string const& key) const;

  private:
    friend class trace_reader;
    std::map<std::string, std::vector<std::vector<std::string>>> lines_;
    std::map<std::string, std::vector<stored_tensor>> tensors_;
};

struct trace_case : record {
    std::string name;
    std::vector<record> steps;
    record final;  ///< what was left after the last step
};

/// All cases of traces/`name`.txt.
std::vector<trace_case> const& read_trace(std::string const& name);
/// The only case called `name`.
trace_case const& find_case(std::string const& trace, std::string const& name);

}  // namespace oracle
